using Millrace.Quic.Recovery;
using static Millrace.Quic.Tests.Recovery.RecoveryHarness;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>When and what a receiver acknowledges (RFC 9000, section 13.2).</summary>
public class ReceivedPacketsTests
{
    private const long Start = 7 * Second;

    [Fact]
    [Trait("Rfc", "9000-13.2.1")]
    public void One_ack_eliciting_packet_is_acknowledged_within_the_delay_that_was_announced()
    {
        var received = new ReceivedPackets(PacketSpace.Application) { MaximumAckDelay = 20 * Millisecond };
        received.OnReceived(0, isAckEliciting: true, EcnMark.NotEct, Start);

        Assert.Equal(Start + (20 * Millisecond), received.AckDeadline);
        Assert.False(received.IsAckDue(Start + (20 * Millisecond) - 1));
        Assert.True(received.IsAckDue(Start + (20 * Millisecond)));
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.2")]
    public void The_second_ack_eliciting_packet_is_acknowledged_at_once()
    {
        var received = new ReceivedPackets(PacketSpace.Application);
        received.OnReceived(0, isAckEliciting: true, EcnMark.NotEct, Start);
        received.OnReceived(1, isAckEliciting: false, EcnMark.NotEct, Start + 1);
        Assert.False(received.IsAckDue(Start + 1));

        received.OnReceived(2, isAckEliciting: true, EcnMark.NotEct, Start + 2);
        Assert.True(received.IsAckDue(Start + 2));

        received.OnAckSent();
        received.OnReceived(3, isAckEliciting: true, EcnMark.NotEct, Start + 3);
        Assert.False(received.IsAckDue(Start + 3));
    }

    [Theory]
    [Trait("Rfc", "9000-13.2.1")]
    [InlineData(PacketSpace.Initial)]
    [InlineData(PacketSpace.Handshake)]
    public void Initial_and_handshake_packets_are_acknowledged_at_once(object space)
    {
        var received = new ReceivedPackets((PacketSpace)space);
        received.OnReceived(0, isAckEliciting: true, EcnMark.NotEct, Start);
        Assert.True(received.IsAckDue(Start));
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.1")]
    public void A_packet_that_is_not_ack_eliciting_asks_for_no_ack()
    {
        foreach (PacketSpace space in Enum.GetValues<PacketSpace>())
        {
            var received = new ReceivedPackets(space);
            received.OnReceived(0, isAckEliciting: false, EcnMark.Ce, Start);
            received.OnReceived(9, isAckEliciting: false, EcnMark.NotEct, Start);
            Assert.Equal(long.MaxValue, received.AckDeadline);
            Assert.True(received.HasUnreported);
        }
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.1")]
    public void A_gap_is_acknowledged_at_once()
    {
        var received = new ReceivedPackets(PacketSpace.Application);
        received.OnReceived(0, isAckEliciting: true, EcnMark.NotEct, Start);
        received.OnAckSent();
        received.OnReceived(2, isAckEliciting: true, EcnMark.NotEct, Start);
        Assert.True(received.IsAckDue(Start));
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.1")]
    public void A_gap_that_packets_without_ack_eliciting_frames_fill_is_none()
    {
        var received = new ReceivedPackets(PacketSpace.Application);
        received.OnReceived(0, isAckEliciting: true, EcnMark.NotEct, Start);
        received.OnAckSent();
        received.OnReceived(1, isAckEliciting: false, EcnMark.NotEct, Start);
        received.OnReceived(2, isAckEliciting: true, EcnMark.NotEct, Start);
        Assert.False(received.IsAckDue(Start));
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.1")]
    public void A_late_packet_is_acknowledged_at_once()
    {
        var received = new ReceivedPackets(PacketSpace.Application);
        received.OnReceived(1, isAckEliciting: true, EcnMark.NotEct, Start);
        received.OnAckSent();
        received.OnReceived(0, isAckEliciting: true, EcnMark.NotEct, Start);
        Assert.True(received.IsAckDue(Start));
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.1")]
    public void A_packet_that_the_network_marked_is_acknowledged_at_once()
    {
        var received = new ReceivedPackets(PacketSpace.Application);
        received.OnReceived(0, isAckEliciting: true, EcnMark.Ce, Start);
        Assert.True(received.IsAckDue(Start));
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.5")]
    public void The_delay_is_counted_from_the_largest_packet()
    {
        var received = new ReceivedPackets(PacketSpace.Application);
        received.OnReceived(5, isAckEliciting: true, EcnMark.NotEct, Start);
        received.OnReceived(3, isAckEliciting: true, EcnMark.NotEct, Start + 1000);
        Assert.Equal(5, received.Largest);
        Assert.Equal(3000, received.AckDelay(Start + 3000));
    }

    [Fact]
    [Trait("Rfc", "9000-13.4.1")]
    public void Marks_are_counted()
    {
        var received = new ReceivedPackets(PacketSpace.Application);
        EcnMark[] marks = [EcnMark.Ect0, EcnMark.Ce, EcnMark.NotEct, EcnMark.Ect0, EcnMark.Ect1, EcnMark.Ect0];
        for (int i = 0; i < marks.Length; i++)
        {
            received.OnReceived(i, isAckEliciting: true, marks[i], Start);
        }

        Assert.Equal(new EcnCounts(3, 1, 1), received.Ecn);
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.3")]
    public void The_oldest_ranges_are_forgotten_and_their_packets_are_not_accepted_again()
    {
        var received = new ReceivedPackets(PacketSpace.Application);
        for (int i = 0; i < 40; i++)
        {
            received.OnReceived(i * 2, isAckEliciting: true, EcnMark.NotEct, Start);
        }

        Assert.Equal(ReceivedPackets.MaximumRanges, received.Ranges.Length);
        Assert.Equal(new PacketRange(78, 78), received.Ranges[0]);
        Assert.Equal(new PacketRange(16, 16), received.Ranges[31]);
        Assert.All(Enumerable.Range(0, 15), number => Assert.True(received.IsDuplicate(number)));
        Assert.False(received.IsDuplicate(15));
        Assert.True(received.IsDuplicate(16));
        Assert.False(received.IsDuplicate(17));
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.4")]
    public void Ranges_that_the_peer_knows_are_not_reported_again()
    {
        var received = new ReceivedPackets(PacketSpace.Application);
        foreach (long number in (long[])[0, 1, 4, 5, 8, 9])
        {
            received.OnReceived(number, isAckEliciting: true, EcnMark.NotEct, Start);
        }

        received.OnAckAcked(5);
        Assert.Equal(2, received.Ranges.Length);
        Assert.Equal(new PacketRange(4, 5), received.Ranges[1]);
        Assert.True(received.IsDuplicate(0));
        Assert.True(received.IsDuplicate(1));
        Assert.False(received.IsDuplicate(2));

        received.OnAckAcked(9);
        Assert.Equal(new PacketRange(8, 9), received.Ranges[0]);
        Assert.Equal(1, received.Ranges.Length);

        // 6 is late: it is below all that is reported, and is reported.
        Assert.False(received.IsDuplicate(6));
        received.OnReceived(6, isAckEliciting: true, EcnMark.NotEct, Start);
        Assert.Equal(new PacketRange(6, 6), received.Ranges[1]);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Ranges_are_those_of_a_set(int seed)
    {
        var random = new Random(seed);
        for (int round = 0; round < 300; round++)
        {
            var received = new ReceivedPackets(PacketSpace.Application);
            var set = new SortedSet<long>();
            int spread = random.Next(1, 60);
            long floor = 0;
            for (int i = 0; i < 200; i++)
            {
                long number = Math.Max(0, (i / 2) + random.Next(-spread, spread));
                bool isDuplicate = set.Contains(number) || number < floor;
                Assert.Equal(isDuplicate, received.IsDuplicate(number));
                if (isDuplicate)
                {
                    continue;
                }

                set.Add(number);
                received.OnReceived(number, isAckEliciting: true, EcnMark.NotEct, Start);
                List<PacketRange> ranges = RangesOf(set.Where(each => each >= floor));
                if (random.Next(10) == 0)
                {
                    long largest = set.ElementAt(random.Next(set.Count));
                    received.OnAckAcked(largest);
                    floor = Math.Max(floor, Forget(ranges, range => range.Largest < largest));
                }

                if (ranges.Count > ReceivedPackets.MaximumRanges)
                {
                    floor = Math.Max(floor, Forget(ranges, range => range == ranges[^1]));
                }

                Assert.Equal(ranges, received.Ranges.ToArray());
            }
        }
    }

    /// <summary>The ranges of numbers, the largest first.</summary>
    private static List<PacketRange> RangesOf(IEnumerable<long> numbers)
    {
        var list = new AckList(numbers.ToArray());
        var ranges = new List<PacketRange>();
        while (list.TryRead(out PacketRange range))
        {
            ranges.Add(range);
        }

        return ranges;
    }

    /// <summary>Removes ranges, but not the first; returns the number above the largest that was removed.</summary>
    private static long Forget(List<PacketRange> ranges, Predicate<PacketRange> isForgotten)
    {
        long floor = 0;
        for (int i = ranges.Count - 1; i > 0; i--)
        {
            if (isForgotten(ranges[i]))
            {
                floor = ranges[i].Largest + 1;
                ranges.RemoveAt(i);
            }
        }

        return floor;
    }
}
