using Millrace.Quic.Recovery;
using static Millrace.Quic.Tests.Recovery.RecoveryHarness;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>Estimation of the round-trip time (RFC 9002, section 5).</summary>
public class RttEstimatorTests
{
    private const long NoLimit = long.MaxValue;

    [Fact]
    [Trait("Rfc", "9002-6.2.2")]
    public void Before_a_sample_a_third_of_a_second_is_assumed()
    {
        var rtt = new RttEstimator();
        Assert.False(rtt.HasSample);
        Assert.Equal(333 * Millisecond, rtt.Smoothed);
        Assert.Equal(333 * Millisecond / 2, rtt.Variation);
        Assert.Equal(999 * Millisecond, rtt.Timeout);
    }

    [Fact]
    [Trait("Rfc", "9002-5.3")]
    public void The_first_sample_replaces_what_was_assumed()
    {
        var rtt = new RttEstimator();
        rtt.Update(80 * Millisecond, 20 * Millisecond, NoLimit, 5);
        Assert.Equal(80 * Millisecond, rtt.Smoothed);
        Assert.Equal(40 * Millisecond, rtt.Variation);
        Assert.Equal(80 * Millisecond, rtt.Minimum);
        Assert.Equal(5, rtt.FirstSampleTime);
    }

    [Fact]
    [Trait("Rfc", "9002-5.3")]
    public void Later_samples_are_smoothed_without_the_delay_of_the_peer()
    {
        var rtt = new RttEstimator();
        rtt.Update(80 * Millisecond, 0, NoLimit, 5);
        rtt.Update(120 * Millisecond, 16 * Millisecond, NoLimit, 6);

        // The sample is 104 ms: a difference of 24 ms.
        Assert.Equal(83 * Millisecond, rtt.Smoothed);
        Assert.Equal(36 * Millisecond, rtt.Variation);
        Assert.Equal(120 * Millisecond, rtt.Latest);
        Assert.Equal(5, rtt.FirstSampleTime);
    }

    [Fact]
    [Trait("Rfc", "9002-5.3")]
    public void No_more_than_the_announced_delay_is_taken_off()
    {
        var rtt = new RttEstimator();
        rtt.Update(80 * Millisecond, 0, NoLimit, 5);
        rtt.Update(120 * Millisecond, 40 * Millisecond, 8 * Millisecond, 6);
        Assert.Equal(84 * Millisecond, rtt.Smoothed);
    }

    [Fact]
    [Trait("Rfc", "9002-5.3")]
    public void The_delay_does_not_bring_a_sample_below_the_minimum()
    {
        var rtt = new RttEstimator();
        rtt.Update(80 * Millisecond, 0, NoLimit, 5);
        rtt.Update(88 * Millisecond, 10 * Millisecond, NoLimit, 6);
        Assert.Equal(81 * Millisecond, rtt.Smoothed);
    }

    [Fact]
    [Trait("Rfc", "9002-5.2")]
    public void The_minimum_is_that_of_all_samples_with_their_delays()
    {
        var rtt = new RttEstimator();
        foreach (int sample in (int[])[80, 60, 90])
        {
            rtt.Update(sample * Millisecond, 50 * Millisecond, NoLimit, 5);
        }

        Assert.Equal(60 * Millisecond, rtt.Minimum);
        rtt.ResetMinimum();
        Assert.Equal(90 * Millisecond, rtt.Minimum);
    }

    [Fact]
    [Trait("Rfc", "9002-6.1.2")]
    public void A_timeout_is_not_finer_than_the_timer()
    {
        var rtt = new RttEstimator();
        for (int i = 0; i < 200; i++)
        {
            rtt.Update(50_000, 0, NoLimit, 5);
        }

        Assert.InRange(rtt.Timeout, RttEstimator.Granularity + 50_000, RttEstimator.Granularity + 60_000);
    }

    [Fact]
    [Trait("Rfc", "9002-6.2.2")]
    public void What_a_retry_took_is_assumed_until_the_first_sample()
    {
        var rtt = new RttEstimator();
        rtt.Assume(30 * Millisecond);
        Assert.Equal(30 * Millisecond, rtt.Smoothed);
        Assert.False(rtt.HasSample);
        rtt.Update(40 * Millisecond, 0, NoLimit, 5);
        Assert.Equal(40 * Millisecond, rtt.Smoothed);
        rtt.Assume(30 * Millisecond);
        Assert.Equal(40 * Millisecond, rtt.Smoothed);
    }
}
