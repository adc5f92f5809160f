using Millrace.Quic.Congestion;
using Millrace.Quic.Recovery;
using static Millrace.Quic.Tests.Congestion.ControllerDriver;

namespace Millrace.Quic.Tests.Congestion;

/// <summary>Pacing (RFC 9002, section 7.7).</summary>
public class PacerTests
{
    private const long Start = 1000 * Millisecond;

    private readonly RttEstimator _rtt = new();
    private readonly CongestionController _controller = CongestionController.Create(CongestionAlgorithm.NewReno, Datagram);

    public PacerTests()
    {
        _rtt.Update(100 * Millisecond, 0, 0, Start);
    }

    [Fact]
    [Trait("Rfc", "9002-7.7")]
    public void A_burst_is_the_initial_window()
    {
        var pacer = new Pacer(_controller, _rtt);
        for (int i = 0; i < 10; i++)
        {
            Assert.Equal(Start, pacer.NextSendTime(Datagram, Start));
            pacer.OnPacketSent(Datagram, Start);
        }

        Assert.True(pacer.NextSendTime(Datagram, Start) > Start);
        Assert.Equal(0, pacer.Allowance(Start));
    }

    [Theory]
    [Trait("Rfc", "9002-7.7")]
    [InlineData(true, 2.0)]
    [InlineData(false, 1.25)]
    public void A_window_is_sent_in_less_than_a_round_trip_time(bool isInSlowStart, double factor)
    {
        if (!isInSlowStart)
        {
            _controller.OnPacketSent(Datagram, Start);
            _controller.OnPacketLost(Datagram);
            _controller.OnCongestion(Start, Start);
        }

        var pacer = new Pacer(_controller, _rtt);
        long now = Start;
        long bytes = 0;
        while (now < Start + (10_000 * Millisecond))
        {
            now = pacer.NextSendTime(Datagram, now);
            pacer.OnPacketSent(Datagram, now);
            bytes += Datagram;
        }

        double expected = 100 * _controller.Window * factor;
        Assert.InRange(bytes, expected * 0.98, expected * 1.03);
    }

    [Fact]
    public void The_sender_is_woken_for_half_a_burst()
    {
        var pacer = new Pacer(_controller, _rtt);
        pacer.OnPacketSent(10 * Datagram, Start);
        long next = pacer.NextSendTime(Datagram, Start);
        Assert.InRange(pacer.Allowance(next), 5 * Datagram, 6 * Datagram);
    }

    [Fact]
    public void More_than_a_burst_is_not_waited_for()
    {
        var pacer = new Pacer(_controller, _rtt);
        Assert.Equal(Start, pacer.NextSendTime(64_000, Start));
        pacer.OnPacketSent(64_000, Start);
        Assert.InRange(pacer.NextSendTime(64_000, Start), Start + 1, Start + (100 * Millisecond));
    }

    [Fact]
    public void A_fast_path_has_larger_bursts()
    {
        _rtt.Reset();
        _rtt.Update(1 * Millisecond, 0, 0, Start);
        var pacer = new Pacer(_controller, _rtt);
        Assert.Equal(40 * Datagram, pacer.Allowance(Start));
    }

    [Fact]
    public void Time_without_packets_saves_no_more_than_a_burst()
    {
        var pacer = new Pacer(_controller, _rtt);
        pacer.OnPacketSent(Datagram, Start);
        Assert.Equal(10 * Datagram, pacer.Allowance(Start + (60_000 * Millisecond)));
    }

    [Fact]
    public void Another_path_begins_with_a_full_bucket()
    {
        var pacer = new Pacer(_controller, _rtt);
        pacer.OnPacketSent(10 * Datagram, Start);
        pacer.Reset();
        Assert.Equal(10 * Datagram, pacer.Allowance(Start));
    }
}
