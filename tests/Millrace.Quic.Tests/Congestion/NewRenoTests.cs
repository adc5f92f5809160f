using Millrace.Quic.Congestion;
using static Millrace.Quic.Tests.Congestion.ControllerDriver;

namespace Millrace.Quic.Tests.Congestion;

/// <summary>Congestion avoidance of RFC 9002, section 7.3.3.</summary>
public class NewRenoTests
{
    [Fact]
    [Trait("Rfc", "9002-7.3.3")]
    public void The_window_grows_by_a_datagram_in_each_round_trip_time()
    {
        var driver = new ControllerDriver(CongestionAlgorithm.NewReno);
        driver.EnterAvoidance(windows: 3);
        long window = driver.Controller.Window;
        for (int i = 1; i <= 30; i++)
        {
            driver.Round();
            Assert.InRange(driver.Controller.Window, window + ((i - 1) * Datagram), window + (i * Datagram));
        }
    }
}
