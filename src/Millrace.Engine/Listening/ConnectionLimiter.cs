using System.Collections.Concurrent;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Listening;

/// <summary>How a connection was admitted.</summary>
internal enum AdmissionResult : byte
{
    TurnedAway,

    Served,

    /// <summary>Admitted only to receive a refusal.</summary>
    Refused,

    /// <summary>An outbound connection, which no limit counts.</summary>
    Outbound,
}

/// <summary>What an admitted connection returns to the limiter when it closes.</summary>
/// <param name="Admission">How it was admitted.</param>
/// <param name="Client">The client it is counted for; null where clients are not counted.</param>
internal readonly record struct ConnectionLease(AdmissionResult Admission, ClientAddress? Client);

/// <summary>
/// Counts the connections of all reactors, in total and per client, and enforces the limits. Used only at accept and at close; a client
/// without connections takes no memory. Any thread.
/// </summary>
internal sealed class ConnectionLimiter(Limits limits)
{
    private readonly LogRateLimiter _lines = new();
    private readonly ConcurrentDictionary<ulong, int> _byClient = new();
    private int _served;
    private int _refused;
    private readonly TurnedAwayConnections _turnedAway = new(limits);

    public int Served => Volatile.Read(ref _served);

    public int Refused => Volatile.Read(ref _refused);

    public int Clients => _byClient.Count;

    /// <summary>Whether clients are counted: otherwise their addresses need not be queried.</summary>
    public bool CountsClients => limits.ConnectionsPerClient > 0;

    /// <summary>Admits a connection or turns it away; the lease is returned with <see cref="Leave"/> in both cases.</summary>
    public ConnectionLease Enter(ClientAddress? client)
    {
        if (!TryTake(ref _served, limits.Connections))
        {
            return default;
        }

        if (client is not { } counted || TryCount(counted))
        {
            return new ConnectionLease(AdmissionResult.Served, client);
        }

        Interlocked.Decrement(ref _served);
        return default;
    }

    /// <summary>Whether a client is below its limit, if it is counted.</summary>
    public bool HasRoomFor(ClientAddress? client) => client is not { } counted
        || !_byClient.TryGetValue(counted.Value, out int count) || count < limits.ConnectionsPerClient;

    public bool IsFull => Served >= limits.Connections;

    /// <summary>As <see cref="Enter"/>, when another connection closes for it, which counts until it has closed.</summary>
    public ConnectionLease EnterReplacing(ClientAddress? client)
    {
        if (client is { } counted && !TryCount(counted))
        {
            return default;
        }

        Interlocked.Increment(ref _served);
        return new ConnectionLease(AdmissionResult.Served, client);
    }

    /// <summary>Admits a connection that <see cref="Enter"/> turned away, to be refused.</summary>
    public ConnectionLease EnterRefused() =>
        TryTake(ref _refused, limits.Refusals) ? new ConnectionLease(AdmissionResult.Refused, null) : default;

    public void Leave(ConnectionLease lease)
    {
        switch (lease.Admission)
        {
            case AdmissionResult.Served:
                Interlocked.Decrement(ref _served);
                if (lease.Client is { } client)
                {
                    Uncount(client.Value);
                }

                break;
            case AdmissionResult.Refused:
                Interlocked.Decrement(ref _refused);
                break;
        }
    }

    /// <summary>Counts a connection that was turned away and logs it, rate-limited, with the numbers since the last line.</summary>
    public void Report(TurnedAwayCause cause, EngineLog log, long nowMs)
    {
        _turnedAway.Add(cause);
        if (_lines.Admits(nowMs))
        {
            _turnedAway.LogAndReset(log);
        }
    }

    private static bool TryTake(ref int count, int most)
    {
        if (Interlocked.Increment(ref count) <= most)
        {
            return true;
        }

        Interlocked.Decrement(ref count);
        return false;
    }

    /// <summary>Counts an admitted connection for its client; false when the client is at its limit.</summary>
    public bool TryCount(ClientAddress address)
    {
        ulong client = address.Value;
        while (true)
        {
            if (!_byClient.TryGetValue(client, out int count))
            {
                if (_byClient.TryAdd(client, 1))
                {
                    return true;
                }
            }
            else if (count >= limits.ConnectionsPerClient)
            {
                return false;
            }
            else if (_byClient.TryUpdate(client, count + 1, count))
            {
                return true;
            }
        }
    }

    private void Uncount(ulong client)
    {
        while (true)
        {
            int count = _byClient[client];
            if (count == 1 ? _byClient.TryRemove(new KeyValuePair<ulong, int>(client, 1)) : _byClient.TryUpdate(client, count - 1, count))
            {
                return;
            }
        }
    }
}
