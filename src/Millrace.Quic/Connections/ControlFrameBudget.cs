namespace Millrace.Quic.Connections;

/// <summary>
/// Limits frames that cost this end work and the peer nothing: PING, PATH_CHALLENGE, NEW_CONNECTION_ID, RETIRE_CONNECTION_ID, window
/// updates, resets, empty STREAM frames, long ACK frames (RFC 9000, section 21.9). Data that arrives or is acknowledged gives some back, as
/// does time. One connection's.
/// </summary>
internal sealed class ControlFrameBudget
{
    public const int Capacity = 4_000;

    /// <summary>A frame for each 2 ms: many times what any use of QUIC sends without data.</summary>
    private const long RefillInterval = 2 * QuicClock.Millisecond;

    private int _available = Capacity;
    private long _refilledAt = long.MinValue;

    /// <summary>False: the peer sent too many; the connection ends with PROTOCOL_VIOLATION.</summary>
    public bool TryTake(int cost, long now)
    {
        if (_available < cost)
        {
            Refill(now);
        }

        if (_available < cost)
        {
            return false;
        }

        _available -= cost;
        return true;
    }

    /// <summary>A packet brought data, or an acknowledgement of it.</summary>
    public void Return(int count) => _available = Math.Min(Capacity, _available + count);

    private void Refill(long now)
    {
        if (_refilledAt == long.MinValue)
        {
            _refilledAt = now;
            return;
        }

        long count = (now - _refilledAt) / RefillInterval;
        _refilledAt += count * RefillInterval;
        _available = (int)Math.Min(Capacity, _available + count);
    }
}
