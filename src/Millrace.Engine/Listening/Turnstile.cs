using System.Collections.Concurrent;

namespace Millrace.Engine.Listening;

/// <summary>How a connection came in.</summary>
internal enum Admission : byte
{
    /// <summary>It did not: a limit is reached.</summary>
    TurnedAway,

    /// <summary>As one of those that are served.</summary>
    Served,

    /// <summary>As one of those that are told so.</summary>
    Refused,

    /// <summary>It did not come, it goes: made here, and counted nowhere.</summary>
    Outbound,
}

/// <summary>What a connection got when it came in, and gives back when it goes.</summary>
/// <param name="Admission">How it came in.</param>
/// <param name="Client">Whom it is counted for; null where its client is not counted.</param>
internal readonly record struct Ticket(Admission Admission, ClientAddress? Client);

/// <summary>
/// Counts the connections of all reactors, in all and by client, and lets no more in than there may be. Asked at accept and at close
/// only; a client without connections costs nothing. Any thread.
/// </summary>
internal sealed class Turnstile(Limits limits)
{
    private readonly LinePace _lines = new();
    private readonly ConcurrentDictionary<ulong, int> _byClient = new();
    private int _served;
    private int _refused;
    private long _turnedAway;

    /// <summary>Connections served now.</summary>
    public int Served => Volatile.Read(ref _served);

    /// <summary>Connections being refused now.</summary>
    public int Refused => Volatile.Read(ref _refused);

    /// <summary>Clients that have connections now, where they are counted.</summary>
    public int Clients => _byClient.Count;

    /// <summary>Whether clients are counted at all: otherwise nobody need ask for their addresses.</summary>
    public bool CountsClients => limits.ConnectionsPerClient > 0;

    /// <summary>Lets a connection in, or says that it may not; the ticket goes back with <see cref="Leave"/> in both cases.</summary>
    public Ticket Enter(ClientAddress? client)
    {
        if (!TryTake(ref _served, limits.Connections))
        {
            return default;
        }

        if (client is not { } counted || TryCount(counted))
        {
            return new Ticket(Admission.Served, client);
        }

        Interlocked.Decrement(ref _served);
        return default;
    }

    /// <summary>Lets in, to be refused, one that <see cref="Enter"/> turned away.</summary>
    public Ticket EnterRefused() => TryTake(ref _refused, limits.Refusals) ? new Ticket(Admission.Refused, null) : default;

    public void Leave(Ticket ticket)
    {
        switch (ticket.Admission)
        {
            case Admission.Served:
                Interlocked.Decrement(ref _served);
                if (ticket.Client is { } client)
                {
                    Uncount(client.Value);
                }

                break;
            case Admission.Refused:
                Interlocked.Decrement(ref _refused);
                break;
        }
    }

    /// <summary>Has it logged that a connection was turned away, together with those since the last line.</summary>
    public void Tell(EngineLog log, long nowMs)
    {
        Interlocked.Increment(ref _turnedAway);
        if (_lines.Admits(nowMs))
        {
            log.TurnedAway(
                Interlocked.Exchange(ref _turnedAway, 0), Served, limits.Connections, limits.ConnectionsPerClient);
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

    /// <summary>Counts a connection that is in already for its client; false where they have as many as they may.</summary>
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
