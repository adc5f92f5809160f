using Millrace.Quic.Recovery;
using static Millrace.Quic.Tests.Recovery.RecoveryHarness;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>The probe timeout (RFC 9002, section 6.2).</summary>
public class ProbeTimeoutTests
{
    [Fact]
    [Trait("Rfc", "9002-6.2.1")]
    public void The_timeout_is_the_round_trip_time_with_its_variation_and_the_delay_of_the_peer()
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        harness.Loss.PeerMaximumAckDelay = 30 * Millisecond;
        harness.Send();
        long last = harness.Now += 5 * Millisecond;
        harness.Send();

        Assert.Equal(330 * Millisecond, harness.Loss.PtoPeriod(PacketSpace.Application));
        Assert.Equal(300 * Millisecond, harness.Loss.PtoPeriod(PacketSpace.Handshake));
        Assert.Equal(last + (330 * Millisecond), harness.Loss.NextTimeout);
    }

    [Fact]
    [Trait("Rfc", "9002-6.2.2")]
    public void The_first_flight_waits_three_times_the_assumed_round_trip_time()
    {
        var harness = new RecoveryHarness(isClient: true);
        harness.Send(PacketSpace.Initial);
        Assert.Equal(harness.Now + (999 * Millisecond), harness.Loss.NextTimeout);
    }

    [Fact]
    [Trait("Rfc", "9002-6.2.1")]
    public void Each_timeout_doubles_the_next_and_an_ack_ends_that()
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        long period = harness.Loss.PtoPeriod(PacketSpace.Application);
        harness.Send();
        for (int i = 1; i <= 5; i++)
        {
            harness.Expire();
            Assert.Equal(i, harness.Loss.PtoCount);
            harness.Send();
            Assert.Equal(harness.Now + (period << i), harness.Loss.NextTimeout);
        }

        harness.Ack(6);
        Assert.Equal(0, harness.Loss.PtoCount);
    }

    [Fact]
    [Trait("Rfc", "9002-6.2.1")]
    public void Application_packets_have_no_timeout_before_the_handshake_is_confirmed()
    {
        var harness = new RecoveryHarness();
        harness.Send();
        Assert.Equal(LossDetection.Never, harness.Loss.NextTimeout);
        harness.Loss.IsHandshakeConfirmed = true;
        Assert.Equal(harness.Now + (1024 * Millisecond), harness.Loss.NextTimeout);
    }

    [Fact]
    [Trait("Rfc", "9002-6.2.4")]
    public void A_timeout_asks_for_two_probes_with_what_is_oldest_and_declares_nothing_lost()
    {
        RecoveryHarness harness = Confirmed();
        SentFrame[] frames = [.. Enumerable.Range(0, 3).Select(i => SentFrame.Stream(0, i * 1000, 1000, isFin: false))];
        foreach (SentFrame frame in frames)
        {
            harness.Send(frames: [frame]);
        }

        long window = harness.Loss.Congestion.Window;
        harness.Expire();
        Assert.Equal(2, harness.Loss.ProbesPending(PacketSpace.Application));
        Assert.Equal(frames[..2], harness.LostFrames);
        Assert.Empty(harness.LostPackets);
        Assert.Equal(window, harness.Loss.Congestion.Window);
        Assert.Equal(3 * Datagram, harness.Loss.Congestion.BytesInFlight);

        harness.Send(traits: SentPacketTraits.None);
        Assert.Equal(2, harness.Loss.ProbesPending(PacketSpace.Application));
        harness.Send(frames: [frames[0]]);
        Assert.Equal(1, harness.Loss.ProbesPending(PacketSpace.Application));
        harness.Send(frames: [frames[1]]);
        Assert.Equal(0, harness.Loss.ProbesPending(PacketSpace.Application));
    }

    [Fact]
    public void A_packet_whose_frames_were_sent_in_a_probe_is_not_sent_a_third_time()
    {
        RecoveryHarness harness = Confirmed();
        SentFrame frame = SentFrame.Stream(0, 0, 1000, isFin: false);
        long first = harness.Send(frames: [frame]);
        harness.Expire();
        Assert.Equal([frame], harness.LostFrames);

        harness.Send(frames: [frame]);
        harness.SendMany(3);
        harness.Ack(first + 1, first + 2, first + 3);
        Assert.Equal([first], harness.LostPackets);
        Assert.Equal([frame], harness.LostFrames);
        Assert.Equal([frame], harness.AckedFrames);
    }

    [Fact]
    public void An_ack_of_the_original_reaches_the_owner_after_the_probe()
    {
        RecoveryHarness harness = Confirmed();
        SentFrame frame = SentFrame.Stream(0, 0, 1000, isFin: false);
        long first = harness.Send(frames: [frame]);
        harness.Expire();
        long probe = harness.Send(frames: [frame]);
        harness.Ack(first);
        harness.Ack(probe);
        Assert.Equal([frame, frame], harness.AckedFrames);
    }

    [Fact]
    [Trait("Rfc", "9002-6.2.2.1")]
    public void A_client_with_nothing_in_flight_sends_a_probe_until_the_server_knows_its_address()
    {
        var harness = new RecoveryHarness(isClient: true);
        harness.Send(PacketSpace.Initial);
        harness.Now += 50 * Millisecond;
        harness.AckIn(PacketSpace.Initial, 0, null, 0);
        Assert.Equal(harness.Now + (150 * Millisecond), harness.Loss.NextTimeout);

        harness.Expire();
        Assert.Equal(1, harness.Loss.ProbesPending(PacketSpace.Initial));
        Assert.Equal(harness.Now + (300 * Millisecond), harness.Loss.NextTimeout);

        harness.Loss.HasHandshakeKeys = true;
        harness.Loss.DiscardSpace(PacketSpace.Initial, harness.Now);
        harness.Expire();
        Assert.Equal(0, harness.Loss.ProbesPending(PacketSpace.Initial));
        Assert.Equal(1, harness.Loss.ProbesPending(PacketSpace.Handshake));

        long number = harness.Send(PacketSpace.Handshake);
        harness.AckIn(PacketSpace.Handshake, 0, null, number);
        Assert.Equal(LossDetection.Never, harness.Loss.NextTimeout);
    }

    [Fact]
    [Trait("Rfc", "9002-6.2.1")]
    public void A_client_keeps_its_backoff_while_the_server_may_not_know_its_address()
    {
        var harness = new RecoveryHarness(isClient: true);
        harness.Send(PacketSpace.Initial);
        harness.Expire();
        harness.Send(PacketSpace.Initial);
        harness.AckIn(PacketSpace.Initial, 0, null, 1);
        Assert.Equal(1, harness.Loss.PtoCount);

        harness.Send(PacketSpace.Handshake);
        harness.AckIn(PacketSpace.Handshake, 0, null, 0);
        Assert.Equal(0, harness.Loss.PtoCount);
    }

    [Fact]
    [Trait("Rfc", "9002-6.2.2.1")]
    public void A_server_that_may_not_send_has_no_timeout_until_it_may()
    {
        var harness = new RecoveryHarness();
        harness.Send(PacketSpace.Initial);
        harness.Loss.IsAmplificationLimited = true;
        Assert.Equal(LossDetection.Never, harness.Loss.NextTimeout);

        harness.Now += 5 * Second;
        harness.Loss.IsAmplificationLimited = false;
        Assert.True(harness.Loss.NextTimeout <= harness.Now);
        harness.Loss.OnTimeout(harness.Now);
        Assert.Equal(2, harness.Loss.ProbesPending(PacketSpace.Initial));
    }

    [Fact]
    [Trait("Rfc", "9002-6.2.4")]
    public void A_timeout_of_the_handshake_probes_in_both_of_its_spaces()
    {
        var harness = new RecoveryHarness();
        harness.Send(PacketSpace.Initial, frames: [SentFrame.Crypto(PacketSpace.Initial, 0, 90)]);
        harness.Send(PacketSpace.Handshake, frames: [SentFrame.Crypto(PacketSpace.Handshake, 0, 800)]);
        harness.Expire();
        Assert.Equal(2, harness.Loss.ProbesPending(PacketSpace.Initial));
        Assert.Equal(2, harness.Loss.ProbesPending(PacketSpace.Handshake));
        Assert.Equal([PacketSpace.Initial, PacketSpace.Handshake], harness.LostFrames.Select(frame => frame.Space));
    }

    [Fact]
    [Trait("Rfc", "9002-6.2.1")]
    public void The_earliest_timeout_of_all_spaces_counts()
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        harness.Send(PacketSpace.Handshake);
        long handshake = harness.Loss.NextTimeout;
        harness.Now += 1 * Millisecond;
        harness.Send();
        Assert.Equal(handshake, harness.Loss.NextTimeout);
        harness.Loss.DiscardSpace(PacketSpace.Handshake, harness.Now);
        Assert.Equal(harness.Now + (325 * Millisecond), harness.Loss.NextTimeout);
    }

    [Fact]
    public void A_timer_that_runs_early_does_nothing()
    {
        RecoveryHarness harness = Confirmed();
        harness.Send();
        harness.Loss.OnTimeout(harness.Loss.NextTimeout - 1);
        Assert.Equal(0, harness.Loss.PtoCount);
        Assert.Equal(0, harness.Loss.ProbesPending(PacketSpace.Application));
    }

    [Fact]
    public void Backoff_has_an_end_so_that_no_time_overflows()
    {
        RecoveryHarness harness = Confirmed(10 * Second);
        harness.Send();
        for (int i = 0; i < 100; i++)
        {
            harness.Loss.OnTimeout(harness.Loss.NextTimeout);
            Assert.InRange(harness.Loss.NextTimeout, 0, long.MaxValue / 2);
        }
    }
}
