using Millrace.Quic.Congestion;
using static Millrace.Quic.Tests.Congestion.ControllerDriver;

namespace Millrace.Quic.Tests.Congestion;

/// <summary>HyStart++ (RFC 9406).</summary>
public class HyStartTests
{
    [Fact]
    [Trait("Rfc", "9406-4.2")]
    public void Growth_of_the_round_trip_time_begins_conservative_slow_start_after_eight_samples()
    {
        var hyStart = new HyStart();
        Round(hyStart, 100, samples: 8);
        for (int i = 0; i < 7; i++)
        {
            hyStart.OnSample(113 * Millisecond);
            Assert.False(hyStart.IsConservative);
        }

        hyStart.OnSample(113 * Millisecond);
        Assert.True(hyStart.IsConservative);
        Assert.Equal(4, hyStart.GrowthDivisor);
    }

    [Theory]
    [Trait("Rfc", "9406-4.2")]
    [InlineData(8, 11, false)]
    [InlineData(8, 12, true)]
    [InlineData(80, 89, false)]
    [InlineData(80, 90, true)]
    [InlineData(400, 415, false)]
    [InlineData(400, 416, true)]
    public void The_growth_that_counts_is_an_eighth_within_bounds(int beforeMs, int afterMs, bool isConservative)
    {
        var hyStart = new HyStart();
        Round(hyStart, beforeMs, samples: 8);
        Round(hyStart, afterMs, samples: 8, ends: false);
        Assert.Equal(isConservative, hyStart.IsConservative);
    }

    [Fact]
    [Trait("Rfc", "9406-4.2")]
    public void Slow_start_goes_on_if_the_growth_was_a_jitter()
    {
        var hyStart = new HyStart();
        Round(hyStart, 100, samples: 8);
        Assert.False(Round(hyStart, 120, samples: 8));
        Assert.True(hyStart.IsConservative);
        Round(hyStart, 105, samples: 8, ends: false);
        Assert.False(hyStart.IsConservative);
        Assert.Equal(1, hyStart.GrowthDivisor);
    }

    [Fact]
    [Trait("Rfc", "9406-4.2")]
    public void Five_conservative_rounds_end_slow_start()
    {
        var hyStart = new HyStart();
        Round(hyStart, 100, samples: 8);
        for (int i = 1; i < 5; i++)
        {
            Assert.False(Round(hyStart, 120 + i, samples: 8));
        }

        Assert.True(Round(hyStart, 125, samples: 8));
    }

    [Fact]
    [Trait("Rfc", "9406-4.3")]
    public void The_controller_leaves_slow_start_without_a_loss()
    {
        var driver = new ControllerDriver(CongestionAlgorithm.Cubic);
        long rtt = 100 * Millisecond;
        for (int i = 0; i < 5; i++)
        {
            driver.Round(rtt, hasSample: true);
        }

        Assert.True(driver.Controller.IsInSlowStart);
        for (int i = 0; i < 9; i++)
        {
            rtt += 15 * Millisecond;
            driver.Round(rtt, hasSample: true);
        }

        Assert.False(driver.Controller.IsInSlowStart);
        long window = driver.Controller.Window;
        driver.Round(rtt, hasSample: true);
        Assert.InRange(driver.Controller.Window, window, window * 1.05);
    }

    private static bool Round(HyStart hyStart, long rttMs, int samples, bool ends = true)
    {
        for (int i = 0; i < samples; i++)
        {
            hyStart.OnSample(rttMs * Millisecond);
        }

        return ends && hyStart.OnRound();
    }
}
