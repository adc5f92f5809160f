namespace Millrace.Quic.Recovery;

/// <summary>
/// Estimates the round-trip time of the current path (RFC 9002, section 5). All times are nanoseconds. Owned by the connection's
/// <see cref="LossDetection"/>; one thread.
/// </summary>
internal sealed class RttEstimator
{
    /// <summary>kInitialRtt: what is assumed before the first sample (RFC 9002, section 6.2.2).</summary>
    public const long InitialRtt = 333_000_000;

    /// <summary>kGranularity: the least precision of the timer (RFC 9002, section 6.1.2).</summary>
    public const long Granularity = 1_000_000;

    private readonly long _initial;

    public RttEstimator(long initialRtt = InitialRtt)
    {
        _initial = initialRtt;
        Reset();
    }

    public bool HasSample { get; private set; }

    /// <summary>When the first sample arrived; <see cref="long.MaxValue"/> before.</summary>
    public long FirstSampleTime { get; private set; }

    public long Latest { get; private set; }

    public long Minimum { get; private set; }

    public long Smoothed { get; private set; }

    public long Variation { get; private set; }

    /// <summary>smoothed_rtt + max(4 * rttvar, kGranularity): a probe timeout without the peer's delay.</summary>
    public long Timeout => Smoothed + Math.Max(4 * Variation, Granularity);

    /// <summary>
    /// Takes a sample. <paramref name="ackDelay"/>: the delay that the peer reports; <paramref name="maximumAckDelay"/>: the most of it
    /// that counts, the peer's max_ack_delay once the handshake is confirmed.
    /// </summary>
    public void Update(long sample, long ackDelay, long maximumAckDelay, long now)
    {
        Latest = Math.Max(sample, 1);
        if (!HasSample)
        {
            HasSample = true;
            FirstSampleTime = now;
            Minimum = Latest;
            Smoothed = Latest;
            Variation = Latest / 2;
            return;
        }

        Minimum = Math.Min(Minimum, Latest);
        long delay = Math.Min(ackDelay, maximumAckDelay);
        long adjusted = Latest - Minimum >= delay ? Latest - delay : Latest;
        Variation = ((3 * Variation) + Math.Abs(Smoothed - adjusted)) / 4;
        Smoothed = ((7 * Smoothed) + adjusted) / 8;
    }

    /// <summary>Persistent congestion: the path may be another one, so the minimum begins again (RFC 9002, section 5.2).</summary>
    public void ResetMinimum() => Minimum = Latest;

    /// <summary>Another path: nothing is known of it.</summary>
    public void Reset()
    {
        HasSample = false;
        FirstSampleTime = long.MaxValue;
        Latest = 0;
        Minimum = 0;
        Smoothed = _initial;
        Variation = _initial / 2;
    }

    /// <summary>A round-trip time that is known from elsewhere, such as of a Retry; the first sample replaces it.</summary>
    public void Assume(long rtt)
    {
        if (!HasSample)
        {
            Smoothed = Math.Max(rtt, 1);
            Variation = Smoothed / 2;
        }
    }
}
