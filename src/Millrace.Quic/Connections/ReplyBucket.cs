namespace Millrace.Quic.Connections;

/// <summary>Limits responses to datagrams of no connection, so that the endpoint is no reflector (RFC 9000, section 21.11).</summary>
internal sealed class ReplyBucket(int perSecond)
{
    private long _available = perSecond;
    private long _refilledAt = long.MinValue;

    public bool TryTake(long now)
    {
        if (_refilledAt == long.MinValue)
        {
            _refilledAt = now;
        }

        // In steps of 10 ms, so that fractions are not lost.
        const long Step = 10 * QuicClock.Millisecond;
        long steps = (now - _refilledAt) / Step;
        if (steps > 0)
        {
            long refill = Math.Min(steps, 100) * perSecond / 100;
            _available = Math.Min(perSecond, _available + Math.Max(1, refill));
            _refilledAt += steps * Step;
        }

        if (_available == 0)
        {
            return false;
        }

        _available--;
        return true;
    }
}
