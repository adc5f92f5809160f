namespace Millrace.Quic.Congestion;

/// <summary>
/// HyStart++ (RFC 9406): ends the first slow start when the round-trip time grows, before packets are lost. Owned by a
/// <see cref="CongestionController"/>. Times are nanoseconds. One thread.
/// </summary>
internal sealed class HyStart
{
    /// <summary>MIN_RTT_THRESH, MAX_RTT_THRESH: the bounds of the growth that counts.</summary>
    private const long MinimumThreshold = 4_000_000;
    private const long MaximumThreshold = 16_000_000;

    /// <summary>MIN_RTT_DIVISOR: the growth that counts is this part of the last round's minimum.</summary>
    private const int ThresholdDivisor = 8;

    /// <summary>N_RTT_SAMPLE: a round decides from so many samples on.</summary>
    private const int SamplesNeeded = 8;

    /// <summary>CSS_ROUNDS: rounds of conservative slow start before congestion avoidance.</summary>
    private const int ConservativeRounds = 5;

    private long _lastMinimum = long.MaxValue;
    private long _currentMinimum = long.MaxValue;
    private long _baseline = long.MaxValue;
    private int _samples;
    private int _rounds;

    /// <summary>Conservative slow start: the window grows by a part of what is acknowledged.</summary>
    public bool IsConservative { get; private set; }

    /// <summary>CSS_GROWTH_DIVISOR: how much slower the window grows in conservative slow start.</summary>
    public int GrowthDivisor => IsConservative ? 4 : 1;

    /// <summary>Takes the sample of one acknowledgement, in slow start.</summary>
    public void OnSample(long rtt)
    {
        _currentMinimum = Math.Min(_currentMinimum, rtt);
        _samples++;
        if (_samples < SamplesNeeded)
        {
            return;
        }

        if (IsConservative)
        {
            // The growth was a jitter: slow start goes on.
            if (_currentMinimum < _baseline)
            {
                IsConservative = false;
                _baseline = long.MaxValue;
            }
        }
        else if (_lastMinimum != long.MaxValue)
        {
            long threshold = Math.Clamp(_lastMinimum / ThresholdDivisor, MinimumThreshold, MaximumThreshold);
            if (_currentMinimum >= _lastMinimum + threshold)
            {
                IsConservative = true;
                _baseline = _currentMinimum;
                _rounds = 0;
            }
        }
    }

    /// <summary>All that was sent before the round's begin is acknowledged. True: slow start has ended.</summary>
    public bool OnRound()
    {
        _lastMinimum = _currentMinimum;
        _currentMinimum = long.MaxValue;
        _samples = 0;
        return IsConservative && ++_rounds >= ConservativeRounds;
    }

    public void Reset()
    {
        IsConservative = false;
        _lastMinimum = long.MaxValue;
        _currentMinimum = long.MaxValue;
        _baseline = long.MaxValue;
        _samples = 0;
        _rounds = 0;
    }
}
