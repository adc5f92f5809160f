using Millrace.Quic.Congestion;
using Millrace.Quic.Recovery;
using static Millrace.Quic.Tests.Recovery.RecoveryHarness;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>Loss recovery and congestion when the path changes (RFC 9000, section 9.4).</summary>
public class NewPathTests
{
    [Fact]
    [Trait("Rfc", "9000-9.4")]
    public void A_new_path_begins_as_a_new_connection_does()
    {
        RecoveryHarness harness = Confirmed();
        harness.SendMany(9);
        harness.Ack(7, 8, 9);
        Assert.NotEqual(12_000, harness.Loss.Congestion.Window);

        harness.Loss.ResetForNewPath(1, keepsEstimates: false, harness.Now);
        Assert.Equal(12_000, harness.Loss.Congestion.Window);
        Assert.Equal(0, harness.Loss.Congestion.BytesInFlight);
        Assert.True(harness.Loss.Congestion.IsInSlowStart);
        Assert.False(harness.Loss.Rtt.HasSample);
        Assert.Equal(EcnState.Testing, harness.Loss.Ecn.State);
    }

    [Fact]
    [Trait("Rfc", "9000-9.4")]
    public void Packets_of_the_old_path_are_recovered_but_say_nothing_of_the_new_one()
    {
        RecoveryHarness harness = Confirmed();
        SentFrame frame = SentFrame.Stream(0, 0, 9, isFin: false);
        harness.Send(frames: [frame]);
        harness.SendMany(4);
        harness.Loss.ResetForNewPath(1, keepsEstimates: false, harness.Now);
        harness.Send(path: 1);
        harness.Now += 50 * Millisecond;
        harness.Ack(3, 4, 5);

        Assert.Equal([1, 2], harness.LostPackets);
        Assert.Equal([frame], harness.LostFrames);
        Assert.Equal(12_000, harness.Loss.Congestion.Window);
        Assert.Equal(Datagram, harness.Loss.Congestion.BytesInFlight);
        Assert.False(harness.Loss.Rtt.HasSample);

        harness.Ack(6);
        Assert.Equal(50 * Millisecond, harness.Loss.Rtt.Smoothed);
        Assert.Equal(0, harness.Loss.Congestion.BytesInFlight);
    }

    [Fact]
    [Trait("Rfc", "9000-9.4")]
    public void Another_port_keeps_what_is_known()
    {
        RecoveryHarness harness = Confirmed(70 * Millisecond);
        harness.SendMany(2);
        long window = harness.Loss.Congestion.Window;
        harness.Loss.ResetForNewPath(1, keepsEstimates: true, harness.Now);
        Assert.Equal(70 * Millisecond, harness.Loss.Rtt.Smoothed);
        Assert.Equal(window, harness.Loss.Congestion.Window);
        Assert.Equal(2 * Datagram, harness.Loss.Congestion.BytesInFlight);
        harness.Ack(1, 2);
        Assert.Equal(0, harness.Loss.Congestion.BytesInFlight);
    }

    [Fact]
    [Trait("Rfc", "9000-9.4")]
    public void A_packet_that_probes_another_path_is_not_part_of_this_ones_flight()
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        harness.Send(path: 3);
        Assert.Equal(0, harness.Loss.Congestion.BytesInFlight);
        harness.Now += 900 * Millisecond;
        harness.Ack(1);
        Assert.Equal(100 * Millisecond, harness.Loss.Rtt.Latest);
    }
}
