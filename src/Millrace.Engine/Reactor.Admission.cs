using Millrace.Engine.Accounting;
using Millrace.Engine.Listening;

namespace Millrace.Engine;

/// <content>Admission: accepted sockets become connections within the limits.</content>
public sealed partial class Reactor
{
    /// <summary>Connections reset in one pass to free memory; further ones wait for the next completion.</summary>
    private const int ResetsPerPass = 256;

    /// <summary>Slots scanned for one new connection; the next scan continues from there.</summary>
    private const int SlotsPerScan = 256;

    /// <summary>Pause after a pass that found nothing to reset.</summary>
    private const int ReliefPauseMs = 10;

    private static readonly Action<object?> EndIdle = static reactor => ((Reactor)reactor!).TryEndIdle();

    private readonly ConnectionLimiter _limiter;
    private long _reliefAtMs;
    private int _scanSlot;

    /// <summary>Starts accepting on a listening socket.</summary>
    internal Acceptor Accept(int socket, ListenerContext listener, Action<int, ListenerContext> deal)
    {
        AssertReactorThread();
        int slot = _acceptors.IndexOf(null);
        if (slot < 0)
        {
            slot = _acceptors.Count;
            _acceptors.Add(null);
        }

        var acceptor = new Acceptor(this, slot, socket, listener, deal);
        _acceptors[slot] = acceptor;
        acceptor.Arm();
        return acceptor;
    }

    /// <summary>Drops an acceptor that has stopped.</summary>
    internal void Forget(Acceptor acceptor) => _acceptors[acceptor.Slot] = null;

    /// <summary>
    /// Takes ownership of a connected socket and serves it. At a limit the newest connection is turned away: by the listener's refusal
    /// handler where there is one, otherwise by a reset.
    /// </summary>
    internal void Acquire(int socket, ListenerContext listener)
    {
        AssertReactorThread();
        Counters.Accepted++;
        ClientAddress? peer = PeerOf(socket, listener);
        ClientAddress? counted = _limiter.CountsClients ? peer : null;
        ClientAccount account = Accounts.Open(peer);
        // After the drain deadline nothing would end the connection: existing ones have been reset.
        bool isRefused = peer is not null && Accounts.IsToRefuse(account);
        bool mayEnter = _giveUpAtMs == long.MaxValue && !isRefused && _limiter.HasRoomFor(counted) && HasDescriptorFor(socket, account);
        ConnectionLease lease = mayEnter ? _limiter.Enter(counted) : default;
        if (mayEnter && lease.Admission == AdmissionResult.TurnedAway && _limiter.IsFull
            && TryMakeRoom(account, mayBeOwn: false, servedOnly: true))
        {
            lease = _limiter.EnterReplacing(counted);
        }

        if (lease.Admission == AdmissionResult.Served)
        {
            Connections.Rent().Open(socket, listener, listener.Handler, lease, account);
            return;
        }

        if (!IsDraining)
        {
            _limiter.Report(Log, NowMs);
            // A refusal holds a descriptor for a while.
            lease = listener.Refusal is null || Descriptors.IsReserved(socket) ? lease : _limiter.EnterRefused();
        }

        if (lease.Admission == AdmissionResult.Refused)
        {
            Counters.Refused++;
            Connections.Rent().Open(socket, listener, listener.Refusal!, lease, account);
            return;
        }

        Accounts.Close(account);
        Counters.Shed++;
        Backend.ResetOnClose(socket);
        Backend.CloseSocket(socket);
    }

    /// <summary>
    /// Counts an admitted connection for its client, which became known only now (PROXY protocol). At that client's limit it is refused, as
    /// it would have been on accept.
    /// </summary>
    internal ConnectionLease Identify(ConnectionLease lease, ClientAddress? client, ListenerContext listener)
    {
        if (lease.Admission != AdmissionResult.Served || client is null || !_limiter.CountsClients)
        {
            return lease;
        }

        if (_limiter.TryCount(client.Value))
        {
            return lease with { Client = client };
        }

        _limiter.Leave(lease);
        _limiter.Report(Log, NowMs);
        ConnectionLease refused = listener.Refusal is null ? default : _limiter.EnterRefused();
        Counters.Refused += refused.Admission == AdmissionResult.Refused ? 1 : 0;
        Counters.Shed += refused.Admission == AdmissionResult.Refused ? 0 : 1;
        return refused;
    }

    /// <summary>Returns a closed connection's lease and object.</summary>
    internal void Release(Connection connection, ConnectionLease lease)
    {
        _limiter.Leave(lease);
        Connections.Return(connection);
    }

    /// <summary>
    /// Beyond the memory limit, resets connections of the largest holders, large ones first, until there is room. Called between two
    /// callbacks only: a reset runs the connection's handler.
    /// </summary>
    private void RelieveMemory()
    {
        if (Accounts.ExcessBytes <= 0 || NowMs < _reliefAtMs)
        {
            return;
        }

        int resets = 0;
        for (long remaining = Accounts.ReliefBytes; remaining > 0 && resets < ResetsPerPass; remaining = Accounts.ReliefBytes)
        {
            ClientAccount largest = Accounts.LargestByBytes(out long secondBytes);
            int before = resets;
            resets += Reset(largest, Math.Max(secondBytes, largest.Bytes - remaining), ResetsPerPass - resets);
            if (resets == before)
            {
                _reliefAtMs = NowMs + ReliefPauseMs;
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
        for (int remaining = Connections.Slots; remaining > 0; remaining--)
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

        return resets;
    }

    /// <summary>
    /// Whether a new connection may keep its descriptor. For a reserved descriptor another connection is ended, where possible.
    /// </summary>
    private bool HasDescriptorFor(int socket, ClientAccount account) =>
        !Descriptors.IsReserved(socket) || TryMakeRoom(account, mayBeOwn: true) || Descriptors.MayKeep(socket, account.Connections);

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
        for (int remaining = Math.Min(SlotsPerScan, Connections.Slots); remaining > 0; remaining--)
        {
            if (NextInScan() is { } connection && connection.IsOf(largest) && (!servedOnly || connection.Holdings.AreServed))
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

        Counters.Shed++;
        _limiter.Report(Log, NowMs);
        candidate.Ending.Shed();
        return true;
    }

    /// <summary>All reactors of the group; empty without a group.</summary>
    internal IReadOnlyList<Reactor> GroupReactors { get; set; } = [];

    /// <summary>
    /// Called when accept finds no descriptor; the waiting peer is not known. Ends idle connections, on other reactors if this one has none
    /// (false then).
    /// </summary>
    internal bool MakeRoomForAccepts()
    {
        if (TryEndIdle())
        {
            return true;
        }

        foreach (Reactor other in GroupReactors)
        {
            if (other != this)
            {
                other.Post(EndIdle, other);
            }
        }

        return false;
    }

    /// <summary>Ends idle connections of the client that holds most, up to the size of the reserve.</summary>
    private bool TryEndIdle()
    {
        ClientAccount largest = Accounts.LargestByDescriptors();
        int ended = 0;
        for (int remaining = Connections.Slots; remaining > 0 && ended < Descriptors.Count; remaining--)
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
        _scanSlot = _scanSlot + 1 < Connections.Slots ? _scanSlot + 1 : 0;
        return Connections.PeekAt(_scanSlot);
    }

    /// <summary>
    /// Whether a client with few open files may use a reserved descriptor for one more, for which a connection of the client that holds
    /// most is ended. That is deferred: a reset runs the connection's handler.
    /// </summary>
    internal bool TryMakeRoomForFile(ClientAccount account)
    {
        if (!Descriptors.AreFewFiles(account.OpenFiles) || !AnotherHoldsMost(account, out _))
        {
            return false;
        }

        Defer(
            static state =>
            {
                (Reactor reactor, ClientAccount account) = ((Reactor, ClientAccount))state!;
                reactor.TryMakeRoom(account, mayBeOwn: false);
            },
            (this, account));
        return true;
    }

    /// <summary>Whether another client holds most, and more than twice this one's connections.</summary>
    private bool AnotherHoldsMost(ClientAccount account, out ClientAccount largest)
    {
        largest = Accounts.LargestByDescriptors();
        return largest != account && largest.Connections > 2 * account.Connections;
    }

    /// <summary>Counts a connection that is reset for lack of memory.</summary>
    internal void NoteStarved()
    {
        Counters.Starved++;
        _limiter.Report(Log, NowMs);
    }

    /// <summary>Counts a request that is refused because the reactor is overloaded.</summary>
    internal void NoteRefused()
    {
        Counters.Refused++;
        _limiter.Report(Log, NowMs);
    }

    /// <summary>The peer's address by getpeername; null where clients have none, or where a proxy reports it later.</summary>
    private ClientAddress? PeerOf(int socket, ListenerContext listener)
    {
        if (!listener.HasClientAddresses || listener.ClientsAreReported)
        {
            return null;
        }

        Span<byte> address = stackalloc byte[ClientAddress.SocketAddressBytesMax];
        int bytes = Backend.PeerAddress(socket, address);
        return bytes < 0 ? null : ClientAddress.Of(address[..Math.Min(bytes, address.Length)]);
    }
}
