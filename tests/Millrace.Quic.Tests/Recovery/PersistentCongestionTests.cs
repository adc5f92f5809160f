using Millrace.Quic.Recovery;
using static Millrace.Quic.Tests.Recovery.RecoveryHarness;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>Persistent congestion (RFC 9002, section 7.6).</summary>
public class PersistentCongestionTests
{
    private const long MinimumWindow = 2 * Datagram;

    /// <summary>(smoothed_rtt + 4 * rttvar + max_ack_delay) * 3, after one sample of 100 ms.</summary>
    private const long Duration = 3 * 325 * Millisecond;

    [Theory]
    [Trait("Rfc", "9002-7.6.2")]
    [InlineData(Duration + 1, true)]
    [InlineData(Duration, false)]
    public void The_window_collapses_when_all_of_a_long_time_is_lost(long time, bool isPersistent)
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        LoseOver(harness, time);
        Assert.Equal(isPersistent, harness.Loss.Congestion.Window == MinimumWindow);
    }

    [Fact]
    [Trait("Rfc", "9002-5.2")]
    public void The_minimum_of_the_round_trip_time_begins_again()
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        harness.Send();
        harness.Now += 2 * Duration;
        harness.SendMany(4);
        harness.Now += 300 * Millisecond;
        harness.Ack(3, 4, 5);
        Assert.Equal(MinimumWindow, harness.Loss.Congestion.Window);
        Assert.Equal(300 * Millisecond, harness.Loss.Rtt.Minimum);
    }

    [Fact]
    [Trait("Rfc", "9002-7.6.2")]
    public void An_acknowledged_packet_between_says_that_the_path_works()
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        harness.Send();
        harness.Now += Duration / 2;
        long between = harness.Send();
        harness.Now += Duration;
        harness.Send();
        harness.Now += 1;
        SendAcks(harness);
        harness.Ack(between, between + 2, between + 3, between + 4);
        Assert.Equal([1, 3], harness.LostPackets);
        Assert.NotEqual(MinimumWindow, harness.Loss.Congestion.Window);
    }

    [Fact]
    [Trait("Rfc", "9002-7.6.2")]
    public void Losses_that_are_found_one_by_one_count_together()
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        harness.Send();
        harness.Now += Duration + 1;
        harness.Send();
        harness.Now += 1;
        SendAcks(harness);

        // The 3rd after the first packet is acknowledged, and only later the 3rd after the second.
        harness.Ack(4);
        Assert.Equal([1], harness.LostPackets);
        Assert.NotEqual(MinimumWindow, harness.Loss.Congestion.Window);
        harness.Ack(5);
        Assert.Equal([1, 2], harness.LostPackets);
        Assert.Equal(MinimumWindow, harness.Loss.Congestion.Window);
    }

    [Fact]
    [Trait("Rfc", "9002-7.6.2")]
    public void Both_ends_of_the_time_are_ack_eliciting_packets()
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        harness.Send(traits: SentPacketTraits.InFlight);
        harness.Now += Duration;
        harness.Send();
        harness.Now += 2;
        harness.Send(traits: SentPacketTraits.InFlight);
        SendAcks(harness);
        harness.Ack(4, 5, 6);
        Assert.Equal([1, 2, 3], harness.LostPackets);
        Assert.NotEqual(MinimumWindow, harness.Loss.Congestion.Window);
    }

    [Fact]
    [Trait("Rfc", "9002-7.6.1")]
    public void Before_the_first_sample_nothing_is_persistent()
    {
        var harness = new RecoveryHarness();
        harness.Loss.IsHandshakeConfirmed = true;
        LoseOver(harness, 20 * Second);
        Assert.Equal(2, harness.LostPackets.Count);
        Assert.NotEqual(MinimumWindow, harness.Loss.Congestion.Window);
    }

    [Fact]
    [Trait("Rfc", "9002-7.6.2")]
    public void An_ack_in_another_space_says_that_the_path_works()
    {
        RecoveryHarness harness = Confirmed(100 * Millisecond);
        harness.Send();
        harness.Now += Duration / 2;
        harness.Send(PacketSpace.Handshake, traits: SentPacketTraits.InFlight);
        harness.Now += Duration;
        harness.Send();
        harness.AckIn(PacketSpace.Handshake, 0, null, 0);
        harness.Now += 1;
        SendAcks(harness);
        harness.Ack(3, 4, 5);
        Assert.Equal([1, 2], harness.LostPackets);
        Assert.NotEqual(MinimumWindow, harness.Loss.Congestion.Window);
    }

    /// <summary>Two packets with this time between them, both lost.</summary>
    private static void LoseOver(RecoveryHarness harness, long time)
    {
        harness.Send();
        harness.Now += time;
        long last = harness.Send();
        SendAcks(harness);
        harness.Ack(last + 1, last + 2, last + 3);
    }

    /// <summary>Packets whose acknowledgement finds losses and is no sample of the round-trip time.</summary>
    private static void SendAcks(RecoveryHarness harness)
    {
        for (int i = 0; i < 3; i++)
        {
            harness.Send(traits: SentPacketTraits.None);
        }
    }
}
