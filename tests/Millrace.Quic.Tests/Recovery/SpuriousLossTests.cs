using Millrace.Quic.Congestion;
using Millrace.Quic.Recovery;
using static Millrace.Quic.Tests.Recovery.RecoveryHarness;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>Packets that were declared lost and are acknowledged after all (RFC 9002, section 6.1; RFC 9438, section 4.9.2).</summary>
public class SpuriousLossTests
{
    [Theory]
    [Trait("Rfc", "9438-4.9.2")]
    [InlineData(CongestionAlgorithm.Cubic)]
    [InlineData(CongestionAlgorithm.NewReno)]
    public void The_window_is_restored_when_all_lost_packets_are_acknowledged(object algorithm)
    {
        RecoveryHarness harness = Confirmed(options: new RecoveryOptions { Algorithm = (CongestionAlgorithm)algorithm });
        harness.SendMany(8);
        long window = harness.Loss.Congestion.Window;
        harness.Ack(6, 7);
        Assert.Equal([1, 2, 3, 4], harness.LostPackets);
        Assert.True(harness.Loss.Congestion.Window < window);

        harness.Ack(1, 2, 3);
        Assert.True(harness.Loss.Congestion.Window < window);
        harness.Ack(4);
        Assert.Equal(window, harness.Loss.Congestion.Window);
        Assert.True(harness.Loss.Congestion.IsInSlowStart);
    }

    [Fact]
    public void The_frames_are_acknowledged_after_they_were_lost()
    {
        RecoveryHarness harness = Confirmed();
        SentFrame frame = SentFrame.Stream(8, 0, 70, isFin: true);
        SentFrame other = SentFrame.Stream(12, 0, 7, isFin: true);
        harness.Send(frames: [frame, other]);
        harness.SendMany(3);
        harness.Ack(4);
        Assert.Equal([frame, other], harness.LostFrames);
        Assert.Empty(harness.AckedFrames);

        harness.Ack(1);
        Assert.Equal([frame, other], harness.AckedFrames);
        harness.Ack(1);
        Assert.Equal([frame, other], harness.AckedFrames);
        Assert.Equal(0, harness.Loss.FurtherFrames);
    }

    [Fact]
    [Trait("Rfc", "9002-7.3.2")]
    public void A_mark_of_the_network_is_no_mistake()
    {
        RecoveryHarness harness = Confirmed();
        for (int i = 0; i < 8; i++)
        {
            harness.Send(ecn: EcnMark.Ect0);
        }

        long window = harness.Loss.Congestion.Window;
        harness.AckIn(PacketSpace.Application, 0, new EcnCounts(1, 0, 1), 6, 7);
        Assert.Equal([1, 2, 3, 4], harness.LostPackets);
        harness.AckIn(PacketSpace.Application, 0, new EcnCounts(5, 0, 1), 1, 2, 3, 4);
        Assert.True(harness.Loss.Congestion.Window < window);
    }

    [Fact]
    [Trait("Rfc", "9002-6.1.1")]
    public void The_threshold_grows_to_the_distance_by_which_packets_were_late()
    {
        RecoveryHarness harness = Confirmed();
        harness.SendMany(7);
        harness.Ack(7);
        harness.Ack(1);

        // Number 1 was 6 late: the 6th after a packet does not declare it lost, the 7th does.
        harness.Ack(2, 3, 4, 5, 6);
        harness.LostPackets.Clear();
        harness.SendMany(8);
        harness.Ack(14);
        Assert.Empty(harness.LostPackets);
        harness.Ack(15);
        Assert.Equal([8], harness.LostPackets);
    }

    [Fact]
    public void The_threshold_has_an_end()
    {
        RecoveryHarness harness = Confirmed();
        harness.SendMany(100);
        harness.Ack(98, 99, 100);
        harness.Ack(1);
        harness.LostPackets.Clear();
        harness.SendMany(65);
        harness.Ack(164);
        Assert.Empty(harness.LostPackets);
        harness.Ack(165);
        Assert.Equal([101], harness.LostPackets);
    }

    [Fact]
    [Trait("Rfc", "9002-6.1.2")]
    public void The_time_grows_when_it_was_too_short()
    {
        RecoveryHarness harness = Confirmed(80 * Millisecond);
        harness.Send();
        harness.Send();
        harness.Now += 80 * Millisecond;
        harness.Ack(2);
        harness.Expire();
        Assert.Equal([1], harness.LostPackets);
        harness.Ack(1);

        harness.Send();
        long sent = harness.Now;
        harness.Send();
        harness.Now += 80 * Millisecond;
        harness.Ack(4);
        Assert.Equal(sent + (100 * Millisecond), harness.Loss.NextTimeout);
    }

    [Fact]
    public void Lost_packets_are_forgotten_after_a_time_and_beyond_a_number()
    {
        RecoveryHarness harness = Confirmed();
        for (int i = 0; i < 300; i++)
        {
            SentFrame frame = SentFrame.Stream(0, i, 1, isFin: false);
            harness.Send(frames: [frame, frame]);
        }

        harness.Ack(300);
        Assert.Equal(297, harness.LostPackets.Count);
        Assert.Equal(128 + 2, harness.Loss.FurtherFrames);

        harness.Now += 10 * Second;
        harness.Send();
        harness.Ack(299, 301);
        Assert.Equal(1, harness.Loss.FurtherFrames);
        Assert.Equal(AckResult.Valid, harness.Ack(1, 2, 299, 301));
        Assert.Equal([300, 300, 299, 299], harness.AckedFrames.Select(frame => frame.Offset + 1));
    }
}
