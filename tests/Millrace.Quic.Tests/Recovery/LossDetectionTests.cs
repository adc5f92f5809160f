using Millrace.Quic.Congestion;
using Millrace.Quic.Recovery;
using static Millrace.Quic.Tests.Recovery.RecoveryHarness;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>Which packets are acknowledged and which are lost (RFC 9002, section 6.1).</summary>
public class LossDetectionTests
{
    [Fact]
    public void Frames_of_an_acknowledged_packet_are_acknowledged()
    {
        RecoveryHarness harness = Confirmed();
        SentFrame stream = SentFrame.Stream(4, 100, 1000, isFin: true);
        SentFrame limit = SentFrame.Control(SentFrameKind.MaxData, 5000);
        long number = harness.Send(frames: [stream, limit]);
        Assert.Equal(1, harness.Loss.FurtherFrames);

        Assert.Equal(AckResult.Valid, harness.Ack(number));
        Assert.Equal([stream, limit], harness.AckedFrames);
        Assert.Equal([number], harness.AckedPackets);
        Assert.Equal(0, harness.Loss.Congestion.BytesInFlight);
        Assert.Equal(0, harness.Loss.FurtherFrames);
    }

    [Fact]
    public void Memory_for_many_packets_in_flight_is_given_back_when_there_is_none()
    {
        RecoveryHarness harness = Confirmed();
        Assert.Equal(0, harness.Loss.HeldBytes);
        long[] numbers = [.. Enumerable.Range(0, 1_000).Select(i => harness.Send(
            frames: [SentFrame.Stream(0, i, 1, isFin: false), SentFrame.Stream(4, i, 1, isFin: false)]))];
        long held = harness.Loss.HeldBytes;
        Assert.InRange(held, 90 * 1024, 200 * 1024);
        harness.Ack(numbers.AsSpan(..^1));
        Assert.False(harness.Loss.TryTrim());
        harness.Ack(numbers[^1]);
        Assert.Equal(held, harness.Loss.HeldBytes);

        Assert.True(harness.Loss.TryTrim());
        Assert.Equal(0, harness.Loss.HeldBytes);
        Assert.False(harness.Loss.TryTrim());
        harness.AckedFrames.Clear();
        numbers = [.. Enumerable.Range(0, 100).Select(i => harness.Send(
            frames: [SentFrame.Stream(0, i, 1, isFin: false), SentFrame.Stream(4, i, 1, isFin: false)]))];
        harness.Ack(numbers);
        Assert.Equal(200, harness.AckedFrames.Count);
    }

    [Fact]
    public void An_ack_that_comes_again_changes_nothing()
    {
        RecoveryHarness harness = Confirmed();
        harness.SendMany(3);
        harness.Now += 50 * Millisecond;
        harness.Ack(1, 2);
        long window = harness.Loss.Congestion.Window;
        long smoothed = harness.Loss.Rtt.Smoothed;

        harness.Now += 500;
        Assert.Equal(AckResult.Valid, harness.Ack(1, 2));
        Assert.Equal([1, 2], harness.AckedPackets);
        Assert.Equal((window, smoothed), (harness.Loss.Congestion.Window, harness.Loss.Rtt.Smoothed));
    }

    [Fact]
    [Trait("Rfc", "9000-13.4.2.1")]
    public void An_ack_that_does_not_raise_the_largest_number_fails_no_marks()
    {
        RecoveryHarness harness = Confirmed(options: new RecoveryOptions { UsesEcn = true });
        harness.Send(ecn: EcnMark.Ect0);
        harness.Send(ecn: EcnMark.Ect0);
        harness.AckIn(PacketSpace.Application, 0, new EcnCounts(1, 0, 0), 2);
        Assert.Equal(EcnState.Capable, harness.Loss.Ecn.State);
        harness.AckIn(PacketSpace.Application, 0, null, 1);
        Assert.Equal([2, 1], harness.AckedPackets);
        Assert.Equal(EcnState.Capable, harness.Loss.Ecn.State);
        harness.Send(ecn: EcnMark.Ect0);
        harness.AckIn(PacketSpace.Application, 0, null, 3);
        Assert.Equal(EcnState.Failed, harness.Loss.Ecn.State);
    }

    [Fact]
    [Trait("Rfc", "9000-13.1")]
    public void An_ack_of_a_number_that_was_not_sent_is_a_violation()
    {
        RecoveryHarness harness = Confirmed();
        Assert.Equal(AckResult.NeverSent, harness.Ack(1));
        Assert.Equal(AckResult.NeverSent, harness.AckIn(PacketSpace.Initial, 0, null, 0));
    }

    [Fact]
    [Trait("Rfc", "9000-21.4")]
    public void An_ack_of_a_number_that_was_left_out_is_a_violation()
    {
        RecoveryHarness harness = Confirmed(options: new RecoveryOptions { SkipSeed = 42 });
        var sent = new HashSet<long>();
        for (int i = 0; i < 5000; i++)
        {
            long number = harness.Send();
            sent.Add(number);
            Assert.Equal(AckResult.Valid, harness.Ack(number));
        }

        long[] skipped = [.. Enumerable.Range(1, (int)harness.Loss[PacketSpace.Application].NextNumber - 1).Select(each => (long)each)
            .Where(each => !sent.Contains(each))];
        Assert.InRange(skipped.Length, 3, 6);
        foreach (long number in skipped[^3..])
        {
            Assert.Equal(AckResult.Skipped, harness.Ack(number - 1, number));
        }
    }

    [Fact]
    [Trait("Rfc", "9002-6.1.1")]
    public void A_packet_is_lost_when_the_third_after_it_is_acknowledged()
    {
        RecoveryHarness harness = Confirmed();
        SentFrame frame = SentFrame.Stream(0, 0, 900, isFin: false);
        harness.Send(frames: [frame]);
        harness.SendMany(4);
        harness.Ack(2, 3);
        Assert.Empty(harness.LostPackets);

        harness.Ack(4);
        Assert.Equal([1], harness.LostPackets);
        Assert.Equal([frame], harness.LostFrames);
        Assert.Equal(Datagram, harness.Loss.Congestion.BytesInFlight);
    }

    [Fact]
    [Trait("Rfc", "9002-6.1.2")]
    public void A_packet_is_lost_when_it_is_older_than_nine_eighths_of_the_round_trip_time()
    {
        RecoveryHarness harness = Confirmed(80 * Millisecond);
        harness.Send();
        long sent = harness.Now;
        harness.Send();
        harness.Now += 80 * Millisecond;
        harness.Ack(2);
        Assert.Empty(harness.LostPackets);
        Assert.Equal(sent + (90 * Millisecond), harness.Loss.NextTimeout);

        harness.Now = harness.Loss.NextTimeout - 1;
        harness.Loss.OnTimeout(harness.Now);
        Assert.Empty(harness.LostPackets);

        harness.Expire();
        Assert.Equal([1], harness.LostPackets);
        Assert.Equal(0, harness.Loss.PtoCount);
        Assert.Equal(LossDetection.Never, harness.Loss.NextTimeout);
    }

    /// <summary>On a local network, where nine eighths of the round-trip time are finer than a timer.</summary>
    [Fact]
    [Trait("Rfc", "9002-6.1.2")]
    public void No_packet_is_lost_by_time_before_the_granularity_of_the_timer()
    {
        RecoveryHarness harness = Confirmed(100_000);
        harness.Send();
        long sent = harness.Now;
        harness.Send();
        harness.Now += 100_000;
        harness.Ack(2);
        Assert.Equal(sent + RttEstimator.Granularity, harness.Loss.NextTimeout);
        harness.Now = sent + RttEstimator.Granularity - 1;
        harness.Loss.OnTimeout(harness.Now);
        Assert.Empty(harness.LostPackets);
        harness.Expire();
        Assert.Equal([1], harness.LostPackets);
    }

    [Fact]
    [Trait("Rfc", "9002-6.1.2")]
    public void The_latest_round_trip_time_counts_if_it_is_longer()
    {
        RecoveryHarness harness = Confirmed(80 * Millisecond);
        harness.Send();
        harness.Send();
        long sent = harness.Now;
        harness.Now += 160 * Millisecond;
        harness.Ack(2);
        Assert.Equal(sent + (180 * Millisecond), harness.Loss.NextTimeout);
    }

    [Fact]
    [Trait("Rfc", "9002-6.1")]
    public void Nothing_is_lost_before_a_later_packet_is_acknowledged()
    {
        RecoveryHarness harness = Confirmed();
        harness.SendMany(10);
        harness.Now += 10 * Second;
        harness.Loss.OnTimeout(harness.Now);
        harness.Ack(1);
        Assert.Empty(harness.LostPackets);
    }

    [Fact]
    [Trait("Rfc", "9002-3")]
    public void Losses_of_one_space_are_not_found_by_acks_of_another()
    {
        var harness = new RecoveryHarness();
        harness.SendMany(1, PacketSpace.Initial);
        harness.SendMany(9, PacketSpace.Handshake);
        harness.Now += 10 * Millisecond;
        harness.AckIn(PacketSpace.Handshake, 0, null, 0, 1, 2, 3, 4, 5, 6, 7, 8);
        Assert.Empty(harness.LostPackets);
        Assert.Equal(Datagram, harness.Loss.Congestion.BytesInFlight);
    }

    [Fact]
    [Trait("Rfc", "9002-2")]
    public void A_packet_with_nothing_but_an_ack_is_not_in_flight()
    {
        RecoveryHarness harness = Confirmed();
        SentFrame ack = SentFrame.Ack(PacketSpace.Application, 77);
        long number = harness.Send(traits: SentPacketTraits.None, frames: [ack]);
        Assert.Equal(0, harness.Loss.Congestion.BytesInFlight);
        Assert.Equal(LossDetection.Never, harness.Loss.NextTimeout);

        harness.SendMany(4);
        long window = harness.Loss.Congestion.Window;
        harness.Ack(number + 2, number + 3);
        Assert.Equal([number], harness.LostPackets);
        Assert.True(harness.Loss.Congestion.Window >= window);
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.4")]
    public void The_ack_of_an_ack_reaches_its_owner()
    {
        RecoveryHarness harness = Confirmed();
        SentFrame ack = SentFrame.Ack(PacketSpace.Application, 77);
        long number = harness.Send(traits: SentPacketTraits.None, frames: [ack]);
        harness.Ack(number);
        Assert.Equal([ack], harness.AckedFrames);
    }

    [Fact]
    public void An_end_that_only_receives_keeps_few_records()
    {
        RecoveryHarness harness = Confirmed();
        for (int i = 0; i < 10_000; i++)
        {
            SentFrame frame = SentFrame.Ack(PacketSpace.Application, i);
            harness.Send(traits: SentPacketTraits.None, frames: [frame, frame]);
        }

        Assert.InRange(harness.Loss[PacketSpace.Application].Count, 1, 300);
        Assert.InRange(harness.Loss.FurtherFrames, 1, 300);
        Assert.Equal(10_000, harness.Loss[PacketSpace.Application].NotElicitingSince);

        long number = harness.Send();
        Assert.Equal(0, harness.Loss[PacketSpace.Application].NotElicitingSince);
        Assert.Equal(AckResult.Valid, harness.Ack(1, 2, 3, number));
    }

    [Fact]
    [Trait("Rfc", "9000-14.4")]
    public void The_loss_of_an_mtu_probe_is_no_congestion()
    {
        RecoveryHarness harness = Confirmed();
        harness.Send(size: 1400, traits: SentPacketTraits.AckEliciting | SentPacketTraits.InFlight | SentPacketTraits.MtuProbe);
        harness.SendMany(4);
        long window = harness.Loss.Congestion.Window;
        harness.Ack(2, 3, 4);
        Assert.Equal([1], harness.LostPackets);
        Assert.True(harness.Loss.Congestion.Window >= window);
        Assert.Equal(Datagram, harness.Loss.Congestion.BytesInFlight);
    }

    [Fact]
    [Trait("Rfc", "9002-5.1")]
    public void Only_an_ack_that_newly_acknowledges_its_largest_number_is_a_sample()
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        harness.SendMany(3);
        harness.Now += 50 * Millisecond;
        harness.Ack(3);
        long latest = harness.Loss.Rtt.Latest;
        Assert.Equal(50 * Millisecond, latest);

        harness.Now += 10 * Millisecond;
        harness.Ack(2, 3);
        Assert.Equal(latest, harness.Loss.Rtt.Latest);
    }

    [Fact]
    [Trait("Rfc", "9002-5.1")]
    public void An_ack_of_packets_that_ask_for_none_is_no_sample()
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        long number = harness.Send(traits: SentPacketTraits.None);
        harness.Now += 50 * Millisecond;
        harness.Ack(number);
        Assert.Equal(100 * Millisecond, harness.Loss.Rtt.Latest);
    }

    [Fact]
    [Trait("Rfc", "9002-5.3")]
    public void The_delay_of_acks_of_initial_packets_does_not_count()
    {
        var harness = new RecoveryHarness();
        foreach (PacketSpace space in (PacketSpace[])[PacketSpace.Initial, PacketSpace.Handshake])
        {
            harness.SendMany(2, space);
            harness.Now += 80 * Millisecond;
            harness.AckIn(space, 0, null, 0);
            harness.Now += 80 * Millisecond;
            long smoothed = harness.Loss.Rtt.Smoothed;
            harness.AckIn(space, 80 * Millisecond, null, 1);
            long sample = (space == PacketSpace.Initial ? 160 : 80) * Millisecond;
            Assert.Equal(((7 * smoothed) + sample) / 8, harness.Loss.Rtt.Smoothed);
        }
    }

    [Fact]
    [Trait("Rfc", "9002-6.4")]
    public void Discarded_keys_take_their_packets_out_of_flight()
    {
        var harness = new RecoveryHarness(isClient: true);
        harness.Send(PacketSpace.Initial, frames: [SentFrame.Crypto(PacketSpace.Initial, 0, 300)]);
        harness.Send(PacketSpace.Handshake, size: 600);
        harness.Expire();
        Assert.Equal(1, harness.Loss.PtoCount);
        Assert.Equal(2, harness.Loss.ProbesPending(PacketSpace.Initial));

        long window = harness.Loss.Congestion.Window;
        harness.LostFrames.Clear();
        harness.Loss.DiscardSpace(PacketSpace.Initial, harness.Now);
        Assert.Equal(600, harness.Loss.Congestion.BytesInFlight);
        Assert.Equal(window, harness.Loss.Congestion.Window);
        Assert.Equal(0, harness.Loss.PtoCount);
        Assert.Equal(0, harness.Loss.ProbesPending(PacketSpace.Initial));
        Assert.Equal(0, harness.Loss.FurtherFrames);
        Assert.Empty(harness.LostFrames);
        Assert.True(harness.Loss[PacketSpace.Initial].IsDiscarded);
    }

    [Fact]
    [Trait("Rfc", "9002-6.3")]
    public void After_a_retry_everything_is_sent_again_under_new_numbers()
    {
        var harness = new RecoveryHarness(isClient: true);
        SentFrame hello = SentFrame.Crypto(PacketSpace.Initial, 0, 300);
        long sent = harness.Now;
        harness.Send(PacketSpace.Initial, frames: [hello]);
        harness.Now += 40 * Millisecond;
        harness.Loss.OnRetry(sent, harness.Now);

        Assert.Equal([hello], harness.LostFrames);
        Assert.Equal(0, harness.Loss.Congestion.BytesInFlight);
        Assert.Equal(1, harness.Loss[PacketSpace.Initial].NextNumber);
        Assert.Equal(40 * Millisecond, harness.Loss.Rtt.Smoothed);
        Assert.Equal(12_000, harness.Loss.Congestion.Window);
    }
}
