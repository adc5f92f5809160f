using Millrace.Quic.Congestion;
using static Millrace.Quic.Tests.Congestion.ControllerDriver;

namespace Millrace.Quic.Tests.Congestion;

/// <summary>CUBIC (RFC 9438), beside a second implementation and beside what its formulas say as a whole.</summary>
public class CubicTests
{
    [Theory]
    [Trait("Rfc", "9438-4")]
    [InlineData(1, 20)]
    [InlineData(2, 100)]
    [InlineData(3, 300)]
    [InlineData(4, 1)]
    public void The_window_is_that_of_the_model(int seed, int rttMs)
    {
        var random = new Random(seed);
        long rtt = rttMs * Millisecond;
        var driver = new ControllerDriver(CongestionAlgorithm.Cubic, rtt);
        var model = new CubicModel(10);
        for (int round = 0; round < 400; round++)
        {
            driver.Fill();
            int count = driver.InFlight;
            driver.Now += rtt;
            if (driver.Segments > 20 && (random.Next(30) == 0 || driver.Segments > 2000))
            {
                driver.Lose();
                model.Lose();
                count--;

                // What was sent before the loss does not change the window.
                driver.Ack(count);
                continue;
            }

            while (count > 0)
            {
                int acked = Math.Min(count, random.Next(1, 4));
                driver.Ack(acked);
                model.Ack(acked, driver.Now / 1e9, rttMs / 1e3);
                count -= acked;
            }

            Assert.InRange(driver.Segments, (model.Cwnd * 0.995) - 0.1, (model.Cwnd * 1.005) + 0.1);
        }
    }

    [Fact]
    [Trait("Rfc", "9438-4.2")]
    public void The_window_is_where_it_was_reduced_after_the_time_k()
    {
        var driver = new ControllerDriver(CongestionAlgorithm.Cubic);
        for (int i = 0; i < 7; i++)
        {
            driver.Round();
        }

        double maximum = driver.Segments;
        driver.EnterAvoidance();
        double reduced = driver.Segments;
        Assert.Equal(0.7 * maximum, reduced, 1.0);
        double k = Math.Cbrt((maximum - reduced) / 0.4);

        long start = driver.Now;
        while (driver.Now < start + (long)(k * 1e9))
        {
            driver.Round();
            double t = (driver.Now - start) / 1e9;
            double expected = (0.4 * Math.Pow(t - k, 3)) + maximum;
            Assert.InRange(driver.Segments, reduced, Math.Max(expected, reduced) * 1.05);
        }

        Assert.InRange(driver.Segments, maximum * 0.97, maximum * 1.03);
    }

    [Fact]
    [Trait("Rfc", "9438-4.3")]
    public void On_a_short_path_the_window_grows_as_fast_as_renos()
    {
        // 1 ms: a second is a thousand rounds of Reno, and nothing for the cubic function.
        var driver = new ControllerDriver(CongestionAlgorithm.Cubic, 1 * Millisecond);
        driver.EnterAvoidance(windows: 2);
        double before = driver.Segments;
        for (int i = 0; i < 100; i++)
        {
            driver.Round(1 * Millisecond);
        }

        // 0.53 segments for each round up to the window before, then 1.
        Assert.InRange(driver.Segments, before + 50, before + 110);
    }

    [Fact]
    [Trait("Rfc", "9438-4.7")]
    public void A_second_reduction_below_the_first_maximum_makes_room()
    {
        var driver = new ControllerDriver(CongestionAlgorithm.Cubic);
        for (int i = 0; i < 7; i++)
        {
            driver.Round();
        }

        driver.EnterAvoidance();
        double second = driver.Segments;
        driver.EnterAvoidance();
        double maximum = second * 1.7 / 2;
        double k = Math.Cbrt((maximum - driver.Segments) / 0.4);
        long start = driver.Now;
        while (driver.Now < start + (long)(k * 1e9))
        {
            driver.Round();
        }

        Assert.InRange(driver.Segments, maximum * 0.96, maximum * 1.04);
    }

    [Fact]
    [Trait("Rfc", "9438-5.8")]
    public void Time_without_data_to_send_does_not_let_the_window_jump()
    {
        var driver = new ControllerDriver(CongestionAlgorithm.Cubic);
        driver.EnterAvoidance(windows: 5);
        for (int i = 0; i < 20; i++)
        {
            driver.Round();
        }

        while (driver.InFlight > 0)
        {
            driver.Ack(1);
        }

        // 20 s of one packet in each round-trip time.
        for (int i = 0; i < 200; i++)
        {
            driver.Send();
            driver.Now += 100 * Millisecond;
            driver.Ack(1);
        }

        double before = driver.Segments;
        driver.Round();
        driver.Round();
        Assert.InRange(driver.Segments, before, before * 1.1);
    }
}
