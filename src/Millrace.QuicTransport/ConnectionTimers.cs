using Millrace.Engine.Loop;
using Millrace.Quic.Connections;

namespace Millrace.QuicTransport;

/// <summary>
/// The timers of a reactor's connections. The time of a connection changes with each of its packets, mostly to a later one: then its timer
/// stays as it is, and is set again when it expires too early. So a busy connection sets its timer once in some round trips. Times further
/// away than some milliseconds expire together with others, up to a millisecond late; those of the pacer, within 33 us. Reactor thread.
/// </summary>
internal sealed class ConnectionTimers(long nowNs)
{
    /// <summary>Units of the queue: 1,024 ns.</summary>
    private const int UnitBits = 10;

    /// <summary>33 us: timers of the kernel are not more precise (a thread's timer slack is 50 us).</summary>
    private const int TickBits = 5;

    private const long NearNs = 3 * QuicClock.Millisecond;

    private readonly TimerQueue _queue = new(nowNs >> UnitBits, TickBits);
    private readonly List<int> _expired = [];

    /// <summary><see cref="QuicClock.Never"/>: no timer is set.</summary>
    public long DueNs => _queue.Count == 0 ? QuicClock.Never : _queue.NextDueMs << UnitBits;

    /// <summary>Has a connection's timer expire at a time, or before.</summary>
    public void Set(QuicTransportConnection connection, long atNs, long nowNs)
    {
        if (atNs >= connection.TimerAt)
        {
            return;
        }

        connection.TimerAt = atNs;
        if (atNs - nowNs > NearNs)
        {
            atNs += QuicClock.Millisecond - 1;
            atNs -= atNs % QuicClock.Millisecond;
        }

        _queue.Schedule(connection.Slot, (atNs >> UnitBits) + 1);
    }

    public void Cancel(QuicTransportConnection connection)
    {
        connection.TimerAt = QuicClock.Never;
        _queue.Cancel(connection.Slot);
    }

    /// <summary>The slots of expired timers; valid until the next call.</summary>
    public List<int> Advance(long nowNs)
    {
        _expired.Clear();
        _queue.Advance(nowNs >> UnitBits, _expired);
        return _expired;
    }
}
