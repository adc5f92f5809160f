using Millrace.Quic.Congestion;
using static Millrace.Quic.Tests.Congestion.ControllerDriver;

namespace Millrace.Quic.Tests.Congestion;

/// <summary>What both controllers do (RFC 9002, section 7).</summary>
public class CongestionControllerTests
{
    public static TheoryData<object> Algorithms => [CongestionAlgorithm.Cubic, CongestionAlgorithm.NewReno];

    [Theory]
    [Trait("Rfc", "9002-7.2")]
    [InlineData(1200, 12_000)]
    [InlineData(1452, 14_520)]
    [InlineData(1500, 14_720)]
    [InlineData(9000, 18_000)]
    public void The_first_window_is_ten_datagrams_with_a_limit(int datagram, long window) =>
        Assert.Equal(window, CongestionController.Create(CongestionAlgorithm.Cubic, datagram).Window);

    [Theory]
    [Trait("Rfc", "9002-7.3.1")]
    [MemberData(nameof(Algorithms))]
    public void Slow_start_grows_by_what_is_acknowledged(object algorithm)
    {
        var driver = new ControllerDriver((CongestionAlgorithm)algorithm);
        driver.Fill();
        driver.Ack(4);
        Assert.Equal(16_800, driver.Controller.Window);
        driver.Ack(6);
        Assert.Equal(24_000, driver.Controller.Window);
    }

    [Theory]
    [Trait("Rfc", "9002-7.3.2")]
    [InlineData(CongestionAlgorithm.Cubic, 0.7)]
    [InlineData(CongestionAlgorithm.NewReno, 0.5)]
    public void A_loss_reduces_the_window_once_in_a_round_trip_time(object algorithm, double factor)
    {
        var driver = new ControllerDriver((CongestionAlgorithm)algorithm);
        driver.Round();
        driver.Fill();
        long window = driver.Controller.Window;
        driver.Lose();
        Assert.Equal((long)(window * factor), driver.Controller.Window);
        Assert.Equal(driver.Controller.Window, driver.Controller.SlowStartThreshold);

        long reduced = driver.Controller.Window;
        driver.Lose();
        driver.Ack(3);
        driver.Lose();
        Assert.Equal(reduced, driver.Controller.Window);

        while (driver.InFlight > 0)
        {
            driver.Ack(1);
        }

        driver.Fill();
        driver.Lose();
        Assert.True(driver.Controller.Window < reduced);
    }

    [Theory]
    [Trait("Rfc", "9002-7.2")]
    [MemberData(nameof(Algorithms))]
    public void The_window_has_a_least_value(object algorithm)
    {
        var driver = new ControllerDriver((CongestionAlgorithm)algorithm);
        for (int i = 0; i < 20; i++)
        {
            driver.Send();
            driver.Lose();
        }

        Assert.Equal(2 * Datagram, driver.Controller.Window);
        Assert.Equal(0, driver.Controller.BytesInFlight);
    }

    [Theory]
    [Trait("Rfc", "9002-7.6.2")]
    [MemberData(nameof(Algorithms))]
    public void After_persistent_congestion_slow_start_goes_to_the_threshold(object algorithm)
    {
        var driver = new ControllerDriver((CongestionAlgorithm)algorithm);
        driver.EnterAvoidance(windows: 4);
        long threshold = driver.Controller.SlowStartThreshold;
        driver.Controller.OnPersistentCongestion();
        Assert.Equal(2 * Datagram, driver.Controller.Window);
        Assert.True(driver.Controller.IsInSlowStart);

        driver.Round();
        Assert.True(driver.Controller.Window >= 4 * Datagram);
        for (int i = 0; i < 20 && driver.Controller.IsInSlowStart; i++)
        {
            driver.Round();
        }

        Assert.InRange(driver.Controller.Window, threshold, threshold + (3 * Datagram));
    }

    [Theory]
    [Trait("Rfc", "9002-7.8")]
    [MemberData(nameof(Algorithms))]
    public void A_window_that_is_not_used_does_not_grow(object algorithm)
    {
        var driver = new ControllerDriver((CongestionAlgorithm)algorithm);
        for (int i = 0; i < 20; i++)
        {
            driver.Send();
            driver.Now += 100 * Millisecond;
            driver.Ack(1);
        }

        Assert.Equal(12_000, driver.Controller.Window);

        // As after slow start: whatever time passes.
        driver.EnterAvoidance(windows: 2);
        driver.Round();
        driver.Round();
        while (driver.InFlight > 0)
        {
            driver.Ack(1);
        }

        long window = driver.Controller.Window;
        for (int i = 0; i < 200; i++)
        {
            driver.Send();
            driver.Now += 100 * Millisecond;
            driver.Ack(1);
        }

        // The two rounds in which it was in use last.
        Assert.InRange(driver.Controller.Window, window, window + (3 * Datagram));
    }

    [Theory]
    [MemberData(nameof(Algorithms))]
    public void The_window_has_a_largest_value(object algorithm)
    {
        var driver = new ControllerDriver((CongestionAlgorithm)algorithm);
        for (int i = 0; i < 40; i++)
        {
            driver.Controller.OnPacketSent((int)Math.Min(int.MaxValue, driver.Controller.Window), driver.Now);
            driver.Controller.OnPacketAcked((int)Math.Min(int.MaxValue, driver.Controller.BytesInFlight), driver.Now++);
            driver.Ack(0);
        }

        Assert.Equal(CongestionController.MaximumWindow, driver.Controller.Window);
    }

    [Theory]
    [Trait("Rfc", "9438-4.9.2")]
    [MemberData(nameof(Algorithms))]
    public void A_congestion_event_whose_losses_were_a_mistake_is_undone(object algorithm)
    {
        var driver = new ControllerDriver((CongestionAlgorithm)algorithm);
        driver.EnterAvoidance(windows: 3);
        driver.Round();
        (long window, long threshold) = (driver.Controller.Window, driver.Controller.SlowStartThreshold);
        driver.Fill();
        int first = driver.Lose();
        Assert.Equal(first, driver.Lose());
        Assert.True(driver.Controller.Window < window);

        Assert.False(driver.Controller.OnSpuriousLoss(first - 1));
        Assert.False(driver.Controller.OnSpuriousLoss(first));
        Assert.True(driver.Controller.OnSpuriousLoss(first));
        Assert.Equal((window, threshold), (driver.Controller.Window, driver.Controller.SlowStartThreshold));
        Assert.False(driver.Controller.OnSpuriousLoss(first));
    }

    [Fact]
    [Trait("Rfc", "9002-7.1")]
    public void A_mark_reduces_the_window_as_a_loss_does_and_is_not_undone()
    {
        var driver = new ControllerDriver(CongestionAlgorithm.NewReno);
        driver.Fill();
        driver.Controller.OnEcnCongestion(driver.Now - 1, driver.Now);
        Assert.Equal(6_000, driver.Controller.Window);
        driver.Controller.OnEcnCongestion(driver.Now - 1, driver.Now);
        Assert.Equal(6_000, driver.Controller.Window);
        Assert.False(driver.Controller.OnSpuriousLoss(driver.Lose()));
        Assert.Equal(6_000, driver.Controller.Window);
    }

    [Fact]
    [Trait("Rfc", "9002-7.2")]
    public void A_larger_datagram_changes_the_window_only_before_it_has_changed()
    {
        CongestionController controller = CongestionController.Create(CongestionAlgorithm.Cubic, 1200);
        controller.SetMaximumDatagramSize(1400);
        Assert.Equal(14_000, controller.Window);

        var driver = new ControllerDriver(CongestionAlgorithm.Cubic);
        driver.Round();
        long window = driver.Controller.Window;
        driver.Controller.SetMaximumDatagramSize(1400);
        Assert.Equal(window, driver.Controller.Window);
    }
}
