using Millrace.Engine.Accounting;
using Millrace.Engine.Connections;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Listening;

/// <summary>
/// Decides which accepted sockets a reactor serves, and which of its connections end when memory or descriptors are short: those of the
/// client that holds most. Reactor thread.
/// </summary>
internal sealed class ConnectionAdmission(Reactor reactor, ConnectionLimiter limiter)
{
    /// <summary>Connections reset in one pass to free memory; further ones wait for the next completion.</summary>
    private const int ResetsPerPass = 256;

    /// <summary>Slots scanned for one new connection; the next scan continues from there.</summary>
    private const int SlotsPerScan = 256;

    /// <summary>Pause after a pass that found nothing to reset.</summary>
    private const int ReliefPauseMs = 10;

    private static readonly Action<object?> EndIdle = static admission => ((ConnectionAdmission)admission!).TryEndIdle();

    private long _reliefAtMs;
    private int _scanSlot;

    /// <summary>Those of connections that have no socket of their own.</summary>
    public List<IMemoryHolder> MemoryHolders { get; } = [];

    /// <summary>All reactors of the group; empty without a group.</summary>
    public IReadOnlyList<Reactor> GroupReactors { get; set; } = [];

    /// <summary>
    /// Takes ownership of a connected socket and serves it. At a limit the newest connection is turned away: by the listener's refusal
    /// handler where there is one, otherwise by a reset.
    /// </summary>
    public void Acquire(int socket, ListenerContext listener)
    {
        reactor.AssertReactorThread();
        reactor.Counters.Accepted++;
        ClientAddress? peer = PeerOf(socket, listener);
        ClientAccount account = reactor.Accounts.Open(peer);
        // After the drain deadline nothing would end the connection: existing ones have been reset.
        TurnedAwayCause cause = default;
        ConnectionLease lease = reactor.Shutdown.HasReset ? default : Enter(socket, account, peer, out cause);
        if (lease.Admission == AdmissionResult.Served)
        {
            reactor.Connections.Rent().Open(socket, listener, listener.Handler, lease, account);
            return;
        }

        if (!reactor.IsDraining)
        {
            Report(cause);
            // A refusal holds a descriptor for a while.
            lease = listener.Refusal is null || reactor.Descriptors.IsReserved(socket) ? lease : limiter.EnterRefused();
        }

        if (lease.Admission == AdmissionResult.Refused)
        {
            reactor.Counters.Refused++;
            reactor.Connections.Rent().Open(socket, listener, listener.Refusal!, lease, account);
            return;
        }

        reactor.Accounts.Close(account);
        reactor.Counters.Shed++;
        reactor.Backend.ResetOnClose(socket);
        reactor.Backend.CloseSocket(socket);
    }

    /// <summary>Admits a connection if no limit forbids it, and ends another one for it where that makes room.</summary>
    /// <param name="socket">Its descriptor.</param>
    /// <param name="account">Its client's account.</param>
    /// <param name="peer">Its client; null where it is not known.</param>
    /// <param name="cause">The limit, if it was turned away.</param>
    private ConnectionLease Enter(int socket, ClientAccount account, ClientAddress? peer, out TurnedAwayCause cause)
    {
        ClientAddress? counted = limiter.CountsClients ? peer : null;
        cause = TurnedAwayCause.Memory;
        if (peer is not null && reactor.Accounts.IsToRefuse(account))
        {
            return default;
        }

        cause = TurnedAwayCause.ConnectionsPerClient;
        if (!limiter.HasRoomFor(counted))
        {
            return default;
        }

        cause = TurnedAwayCause.Descriptors;
        if (!HasDescriptorFor(socket, account))
        {
            return default;
        }

        ConnectionLease lease = limiter.Enter(counted);
        cause = limiter.IsFull ? TurnedAwayCause.Connections : TurnedAwayCause.ConnectionsPerClient;
        return lease.Admission == AdmissionResult.TurnedAway && limiter.IsFull && TryMakeRoom(account, mayBeOwn: false, servedOnly: true)
            ? limiter.EnterReplacing(counted)
            : lease;
    }

    /// <summary>
    /// Counts an admitted connection for its client, which became known only now (PROXY protocol). At that client's limit it is refused, as
    /// it would have been on accept.
    /// </summary>
    public ConnectionLease Identify(ConnectionLease lease, ClientAddress? client, ListenerContext listener)
    {
        if (lease.Admission != AdmissionResult.Served || client is null || !limiter.CountsClients)
        {
            return lease;
        }

        if (limiter.TryCount(client.Value))
        {
            return lease with { Client = client };
        }

        limiter.Leave(lease);
        Report(TurnedAwayCause.ConnectionsPerClient);
        ConnectionLease refused = listener.Refusal is null ? default : limiter.EnterRefused();
        reactor.Counters.Refused += refused.Admission == AdmissionResult.Refused ? 1 : 0;
        reactor.Counters.Shed += refused.Admission == AdmissionResult.Refused ? 0 : 1;
        return refused;
    }

    /// <summary>
    /// Counts a connection that has no socket of its own, as those of QUIC, when its client is known. False: a limit leaves no room for it,
    /// or memory is short and the client holds much of it. In both cases the holdings' lease is returned with <see cref="Leave"/>.
    /// </summary>
    public bool TryIdentify(ConnectionHoldings holdings, ClientAddress client)
    {
        ClientAccount account = reactor.Accounts.Open(client);
        ConnectionLease lease = limiter.Enter(limiter.CountsClients ? client : null);
        holdings.Assign(account, lease);
        bool isServed = lease.Admission == AdmissionResult.Served;
        if (isServed && !reactor.Accounts.IsToRefuse(account))
        {
            return true;
        }

        reactor.Counters.Shed++;
        Report(isServed ? TurnedAwayCause.Memory
            : limiter.IsFull ? TurnedAwayCause.Connections : TurnedAwayCause.ConnectionsPerClient);
        return false;
    }

    /// <summary>A connection of <see cref="TryIdentify"/> is over.</summary>
    public void Leave(ConnectionLease lease) => limiter.Leave(lease);

    public void Release(Connection connection, ConnectionLease lease)
    {
        limiter.Leave(lease);
        reactor.Connections.Return(connection);
    }

    /// <summary>
    /// Beyond the memory limit, resets connections of the largest holders, large ones first, until there is room. Called between two
    /// callbacks only: a reset runs the connection's handler.
    /// </summary>
    public void RelieveMemory()
    {
        if (reactor.Accounts.ExcessBytes <= 0 || reactor.NowMs < _reliefAtMs)
        {
            return;
        }

        int resets = 0;
        while (reactor.Accounts.ReliefBytes is > 0 and long remaining && resets < ResetsPerPass)
        {
            ClientAccount largest = reactor.Accounts.LargestByBytes(out long secondBytes);
            int before = resets;
            resets += Reset(largest, Math.Max(secondBytes, largest.Bytes - remaining), ResetsPerPass - resets);
            if (resets == before)
            {
                _reliefAtMs = reactor.NowMs + ReliefPauseMs;
                break;
            }
        }
    }

    /// <summary>
    /// Resets connections of a client that hold at least its average, until the client holds <paramref name="downToBytes"/>; returns the
    /// number of resets.
    /// </summary>
    private int Reset(ClientAccount account, long downToBytes, int resetsMax)
    {
        int resets = 0;
        long average = account.Bytes / Math.Max(1, account.Connections);
        for (int remaining = reactor.Connections.Slots; remaining > 0; remaining--)
        {
            if (NextInScan() is not { } connection || !connection.IsOf(account) || connection.Holdings.Bytes < average)
            {
                continue;
            }

            NoteStarved();
            connection.Ending.Shed();
            if (++resets == resetsMax || account.Bytes <= downToBytes)
            {
                break;
            }
        }

        foreach (IMemoryHolder holder in MemoryHolders)
        {
            if (resets < resetsMax && account.Bytes > downToBytes)
            {
                resets += holder.Shed(account, average, downToBytes, resetsMax - resets);
            }
        }

        return resets;
    }

    /// <summary>
    /// Whether a new connection may keep its descriptor. For a reserved descriptor another connection is ended, where possible.
    /// </summary>
    private bool HasDescriptorFor(int socket, ClientAccount account) =>
        !reactor.Descriptors.IsReserved(socket)
        || TryMakeRoom(account, mayBeOwn: true)
        || reactor.Descriptors.MayKeep(socket, account.Connections);

    /// <summary>
    /// Ends one connection of the client that holds most, an idle one if there is one. If that client is the new connection's own, only an
    /// idle one, and only with <paramref name="mayBeOwn"/>. With <paramref name="servedOnly"/> not one that is being refused, as that does
    /// not count towards the limit on connections.
    /// </summary>
    private bool TryMakeRoom(ClientAccount account, bool mayBeOwn, bool servedOnly = false)
    {
        bool isAnother = AnotherHoldsMost(account, out ClientAccount largest);
        if (!isAnother && !(mayBeOwn && largest == account))
        {
            return false;
        }

        Connection? candidate = null;
        for (int remaining = Math.Min(SlotsPerScan, reactor.Connections.Slots); remaining > 0; remaining--)
        {
            if (NextInScan() is { } connection && connection.IsOf(largest) && (!servedOnly || connection.Holdings.CountsAsServed))
            {
                if (connection.IsIdle)
                {
                    connection.Ending.ShedIdle();
                    return true;
                }

                candidate ??= connection;
            }
        }

        if (!isAnother || candidate is null)
        {
            return false;
        }

        reactor.Counters.Shed++;
        Report(servedOnly ? TurnedAwayCause.Connections : TurnedAwayCause.Descriptors);
        candidate.Ending.Shed();
        return true;
    }

    /// <summary>
    /// Called when accept finds no descriptor; the waiting peer is not known. Ends idle connections, on other reactors if this one has none
    /// (false then).
    /// </summary>
    public bool MakeRoomForAccepts()
    {
        if (TryEndIdle())
        {
            return true;
        }

        foreach (Reactor other in GroupReactors)
        {
            if (other != reactor)
            {
                other.Post(EndIdle, other.Admission);
            }
        }

        return false;
    }

    /// <summary>Ends idle connections of the client that holds most, up to the size of the reserve.</summary>
    private bool TryEndIdle()
    {
        ClientAccount largest = reactor.Accounts.LargestByDescriptors();
        int ended = 0;
        for (int remaining = reactor.Connections.Slots; remaining > 0 && ended < reactor.Descriptors.Count; remaining--)
        {
            if (NextInScan() is { } connection && connection.IsOf(largest) && connection.IsIdle)
            {
                connection.Ending.ShedIdle();
                ended++;
            }
        }

        return ended > 0;
    }

    /// <summary>The next slot of a round-robin scan, in use or not.</summary>
    private Connection? NextInScan()
    {
        _scanSlot = _scanSlot + 1 < reactor.Connections.Slots ? _scanSlot + 1 : 0;
        return reactor.Connections.PeekAt(_scanSlot);
    }

    /// <summary>
    /// Whether a client with few open files may use a reserved descriptor for one more, for which a connection of the client that holds
    /// most is ended. That is deferred: a reset runs the connection's handler.
    /// </summary>
    public bool TryMakeRoomForFile(ClientAccount account)
    {
        if (!reactor.Descriptors.AreFewFiles(account.OpenFiles) || !AnotherHoldsMost(account, out _))
        {
            return false;
        }

        reactor.Defer(
            static state =>
            {
                (ConnectionAdmission admission, ClientAccount account) = ((ConnectionAdmission, ClientAccount))state!;
                admission.TryMakeRoom(account, mayBeOwn: false);
            },
            (this, account));
        return true;
    }

    /// <summary>Whether another client holds most, and more than twice this one's connections.</summary>
    private bool AnotherHoldsMost(ClientAccount account, out ClientAccount largest)
    {
        largest = reactor.Accounts.LargestByDescriptors();
        return largest != account && largest.Connections > 2 * account.Connections;
    }

    /// <summary>A connection ended for lack of memory.</summary>
    public void NoteStarved()
    {
        reactor.Counters.Starved++;
        Report(TurnedAwayCause.Memory);
    }

    /// <summary>A request was refused for lack of memory.</summary>
    public void NoteRefused()
    {
        reactor.Counters.Refused++;
        Report(TurnedAwayCause.Memory);
    }

    private void Report(TurnedAwayCause cause) => limiter.Report(cause, reactor.Log, reactor.NowMs);

    /// <summary>The peer's address by getpeername; null where clients have none, or where a proxy reports it later.</summary>
    private ClientAddress? PeerOf(int socket, ListenerContext listener)
    {
        if (!listener.HasClientAddresses || listener.ClientsAreReported)
        {
            return null;
        }

        Span<byte> address = stackalloc byte[ClientAddress.SocketAddressBytesMax];
        int bytes = reactor.Backend.PeerAddress(socket, address);
        return bytes < 0 ? null : ClientAddress.Of(address[..Math.Min(bytes, address.Length)]);
    }
}
