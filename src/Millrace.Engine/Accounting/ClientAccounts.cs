using System.Runtime.InteropServices;
using Millrace.Engine.Buffers;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Accounting;

/// <summary>
/// Counts the memory and descriptors that a reactor's connections hold, in total and by client address. The largest holder is found by a
/// walk over the clients, only while a resource is short. An account exists from a client's first connection to its last, and requests
/// allocate nothing. Reactor thread only, so that nothing is shared or locked.
/// </summary>
/// <remarks>
/// Native blocks are counted where they are lent (<see cref="BlockPools"/>); <see cref="Connection.ChargeBlocks"/> only attributes them.
/// All else, the objects of sessions and streams and the kernel's memory for a socket, is counted by <see
/// cref="Connection.ChargeManaged"/>, as estimates on the high side. Beyond three quarters of the limit, clients that hold much are
/// refused; beyond the limit, connections of the largest holders are reset (<see cref="Reactor"/>), so that a client that holds nothing is
/// always served.
/// </remarks>
internal sealed class ClientAccounts(BlockPools pools, long bytesMax)
{
    /// <summary>A client with at most this fraction of the limit, or at most the average, is served although memory is short.</summary>
    private const int LittleDivisor = 64;

    private readonly Dictionary<ulong, ClientAccount> _byClient = [];
    private readonly long _bytesMax = bytesMax > 0 ? bytesMax : long.MaxValue;

    /// <summary>For connections whose client has no address, or is not known yet.</summary>
    private readonly ClientAccount _nobody = new(null);

    /// <summary>For outbound connections: none of them is ended for a client.</summary>
    public ClientAccount Outbound { get; } = new(null);

    /// <summary>For connections that were reset to make room, until all they hold is returned.</summary>
    public ClientAccount Ending { get; } = new(null);

    public long StateBytes { get; private set; }

    public long Bytes => pools.LentBytes + StateBytes;

    /// <summary>Clients with connections and a known address.</summary>
    public int Clients => _byClient.Count;

    /// <summary>Whether memory is short: new work of clients that hold much should be refused.</summary>
    public bool IsShort => Bytes > _bytesMax / 4 * 3;

    /// <summary>Bytes beyond the limit; negative below it. Connections that are already ending are not counted.</summary>
    public long ExcessBytes => Bytes - Ending.Bytes - _bytesMax;

    /// <summary>Bytes to free when the limit is exceeded, with a margin so that the next connections do not exceed it again.</summary>
    public long ReliefBytes => ExcessBytes + (_bytesMax / 8);

    public ClientAccount Open(ClientAddress? client)
    {
        ClientAccount account = _nobody;
        if (client is { } known)
        {
            ref ClientAccount? found = ref CollectionsMarshal.GetValueRefOrAddDefault(_byClient, known.Value, out _);
            account = found ??= new ClientAccount(known.Value);
        }

        return Enter(account);
    }

    public void Close(ClientAccount account)
    {
        account.Connections--;
        if (account is { Connections: 0, Client: { } client })
        {
            _byClient.Remove(client);
        }
    }

    /// <summary>Adds a connection to <see cref="Outbound"/> or <see cref="Ending"/>.</summary>
    public static ClientAccount Enter(ClientAccount account)
    {
        account.Connections++;
        return account;
    }

    public void ChargeState(long bytes) => StateBytes += bytes;

    /// <summary>Whether new work of a client should be refused: memory is short and the client holds much of it.</summary>
    public bool IsToRefuse(ClientAccount account) => IsShort && !IsLittle(account);

    /// <summary>Whether a client holds so little that others should be reset first.</summary>
    public bool IsLittle(ClientAccount account) =>
        account.Bytes <= _bytesMax / LittleDivisor || (Clients > 1 && account.Bytes <= Bytes / Clients);

    /// <summary>The client that holds most bytes, and the bytes of the second.</summary>
    public ClientAccount LargestByBytes(out long secondBytes)
    {
        (ClientAccount largest, secondBytes) = (_nobody, 0);
        foreach (ClientAccount account in _byClient.Values)
        {
            (ClientAccount more, ClientAccount less) = account.Bytes > largest.Bytes ? (account, largest) : (largest, account);
            secondBytes = Math.Max(secondBytes, less.Bytes);
            largest = more;
        }

        return largest;
    }

    public ClientAccount LargestByDescriptors()
    {
        ClientAccount largest = _nobody;
        foreach (ClientAccount account in _byClient.Values)
        {
            largest = account.Connections + account.OpenFiles > largest.Connections + largest.OpenFiles ? account : largest;
        }

        return largest;
    }
}

/// <summary>What one client (<see cref="ClientAddress"/>) holds in one reactor. Written by the reactor's thread only.</summary>
internal sealed class ClientAccount(ulong? client)
{
    /// <summary>The client's address; null for accounts without one.</summary>
    public ulong? Client { get; } = client;

    public int Connections { get; set; }

    /// <summary>Memory: blocks, the state of connections, sessions and streams, and the kernel's for their sockets.</summary>
    public long Bytes { get; set; }

    /// <summary>Files opened for one response each, in addition to those that the site keeps open.</summary>
    public int OpenFiles { get; set; }
}
