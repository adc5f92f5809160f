using Millrace.Quic.Recovery;

namespace Millrace.Quic.Congestion;

/// <summary>
/// Spreads what the window allows over a round-trip time (RFC 9002, section 7.7): a token bucket that fills at a rate above the window's,
/// so that it is the window that limits. Packets that are not in flight and probes are not paced. Owned by the connection's
/// <see cref="LossDetection"/>; one thread.
/// </summary>
internal sealed class Pacer(CongestionController congestion, RttEstimator rtt)
{
    /// <summary>The least burst, in datagrams: the initial window.</summary>
    private const int LeastBurst = 10;

    /// <summary>The largest burst, in datagrams: about what one send of several segments takes.</summary>
    private const int LargestBurst = 40;

    /// <summary>A burst is what this time allows, within the bounds: timers are about as precise.</summary>
    private const double BurstTime = 2e6;

    private double _tokens = double.MaxValue;
    private long _filledAt = long.MinValue;

    /// <summary>Bytes for each nanosecond.</summary>
    private double Rate => (congestion.IsInSlowStart ? 2.0 : 1.25) * congestion.Window / Math.Max(1, rtt.Smoothed);

    /// <summary>The size of the bucket, in bytes.</summary>
    private double Burst => Math.Clamp(
        Rate * BurstTime, (double)LeastBurst * congestion.MaximumDatagramSize, (double)LargestBurst * congestion.MaximumDatagramSize);

    /// <summary>What may be sent now, in bytes.</summary>
    public long Allowance(long now)
    {
        Fill(now);
        return (long)_tokens;
    }

    /// <summary>
    /// When a packet of this size may be sent: now, or when half a burst is there, so that a timer wakes the sender for several packets.
    /// </summary>
    public long NextSendTime(int size, long now)
    {
        Fill(now);
        if (_tokens >= size || _tokens >= Burst)
        {
            return now;
        }

        double burst = Burst;
        double needed = Math.Clamp(size, burst / 2, burst) - _tokens;
        return now + (long)Math.Ceiling(needed / Rate);
    }

    public void OnPacketSent(int size, long now)
    {
        Fill(now);
        _tokens = Math.Max(0, _tokens - size);
    }

    /// <summary>Another path: the bucket is full.</summary>
    public void Reset()
    {
        _tokens = double.MaxValue;
        _filledAt = long.MinValue;
    }

    /// <summary>Once for the packets of a send, which have the same time.</summary>
    private void Fill(long now)
    {
        if (now <= _filledAt)
        {
            return;
        }

        if (_filledAt != long.MinValue)
        {
            _tokens += Rate * (now - _filledAt);
        }

        _filledAt = now;
        _tokens = Math.Min(_tokens, Burst);
    }
}
