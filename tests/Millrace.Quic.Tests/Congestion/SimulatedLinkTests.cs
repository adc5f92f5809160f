using Millrace.Quic.Congestion;
using static Millrace.Quic.Tests.Congestion.SimulatedLink;

namespace Millrace.Quic.Tests.Congestion;

/// <summary>Whole senders over a simulated bottleneck of 20 Mbit/s and 50 ms, whose product with the rate is 104 datagrams.</summary>
public class SimulatedLinkTests
{
    private const long Rate = 2_500_000;
    private const long Rtt = 50 * Millisecond;
    private const long Product = Rate / 20;

    public static TheoryData<object> Algorithms => [CongestionAlgorithm.Cubic, CongestionAlgorithm.NewReno];

    [Theory]
    [MemberData(nameof(Algorithms))]
    public void A_sender_fills_the_link_and_loses_little(object algorithm)
    {
        var link = new SimulatedLink(Rate, Rtt, Product);
        Flow flow = link.Add((CongestionAlgorithm)algorithm);
        link.RunFor(30 * Second);
        AssertFills(link, 30, 0.93);
        Assert.InRange(flow.Lost, 0, flow.Sent * 0.01);
    }

    [Theory]
    [Trait("Rfc", "9406-4.2")]
    [MemberData(nameof(Algorithms))]
    public void The_first_slow_start_ends_before_a_deep_buffer_is_full(object algorithm)
    {
        var link = new SimulatedLink(Rate, Rtt, 10 * Product);
        Flow flow = link.Add((CongestionAlgorithm)algorithm);
        link.RunFor(2 * Second);
        Assert.Equal(0, link.Drops);
        Assert.False(flow.Recovery.Congestion.IsInSlowStart);
        Assert.InRange(flow.Recovery.Congestion.Window, Product, 11 * Product);
    }

    [Theory]
    [MemberData(nameof(Algorithms))]
    public void Two_senders_share_the_link(object algorithm)
    {
        var link = new SimulatedLink(Rate, Rtt, Product);
        Flow first = link.Add((CongestionAlgorithm)algorithm);
        link.RunFor(5 * Second);
        Flow second = link.Add((CongestionAlgorithm)algorithm);
        link.RunFor(40 * Second);
        (int before1, int before2) = (first.Delivered, second.Delivered);
        link.RunFor(40 * Second);
        double share = (double)(first.Delivered - before1) / (first.Delivered - before1 + second.Delivered - before2);
        Assert.InRange(share, 0.3, 0.7);
    }

    [Theory]
    [Trait("Rfc", "9002-6")]
    [InlineData(0.01)]
    [InlineData(0.1)]
    [InlineData(0.3)]
    public void Everything_arrives_over_a_link_that_loses_at_random(double loss)
    {
        for (int seed = 1; seed <= 10; seed++)
        {
            var link = new SimulatedLink(Rate, Rtt, Product, seed) { Loss = loss };
            Flow flow = link.Add(CongestionAlgorithm.Cubic, limit: 300);
            link.RunFor(600 * Second);
            Assert.True(flow.IsComplete, $"Seed {seed}: {flow.Delivered} of 300, {flow.Lost} lost");
            Assert.Equal(0, flow.Recovery.Congestion.BytesInFlight);
        }
    }

    [Fact]
    [Trait("Rfc", "9002-6.1.1")]
    public void Reordering_does_not_slow_a_sender_down_for_long()
    {
        var link = new SimulatedLink(Rate, Rtt, Product) { Reordering = 0.02 };
        link.Add(CongestionAlgorithm.Cubic);
        link.RunFor(30 * Second);
        AssertFills(link, 30, 0.8);
    }

    [Fact]
    [Trait("Rfc", "9002-7.1")]
    public void A_link_that_marks_is_filled_without_losses()
    {
        var link = new SimulatedLink(Rate, Rtt, 4 * Product) { MarkAt = Product / 2 };
        Flow flow = link.Add(CongestionAlgorithm.Cubic);
        link.RunFor(30 * Second);
        Assert.Equal(0, link.Drops);
        Assert.True(link.Marks > 0);
        Assert.Equal(EcnState.Capable, flow.Recovery.Ecn.State);
        AssertFills(link, 30, 0.9);
    }

    [Fact]
    [Trait("Rfc", "9002-6.2.1")]
    public void A_sender_recovers_from_an_outage()
    {
        var link = new SimulatedLink(Rate, Rtt, Product);
        Flow flow = link.Add(CongestionAlgorithm.Cubic);
        link.RunFor(5 * Second);
        link.Outage = (link.Now, link.Now + (10 * Second));
        link.RunFor(10 * Second);
        int sent = flow.Sent;
        int delivered = flow.Delivered;

        // At most as long again until the next probe.
        link.RunFor(20 * Second);
        Assert.True(flow.Delivered - delivered > 0.4 * 20 * Rate / Datagram, $"{flow.Delivered - delivered} delivered");
        Assert.InRange(sent, 0, (5 * Rate / Datagram) + 500);
    }

    [Fact]
    [Trait("Rfc", "9002-7.7")]
    public void A_paced_sender_needs_little_buffer()
    {
        var link = new SimulatedLink(Rate, Rtt, Product / 4);
        Flow flow = link.Add(CongestionAlgorithm.Cubic);
        link.RunFor(30 * Second);
        AssertFills(link, 30, 0.75);
        Assert.InRange(flow.Lost, 0, flow.Sent * 0.02);
    }

    private static void AssertFills(SimulatedLink link, int seconds, double part)
    {
        double possible = (double)seconds * Rate / Datagram;
        double delivered = link.Flows.Sum(flow => flow.Delivered);
        Assert.True(delivered >= possible * part, $"{delivered / possible:P1} of the link was used, {link.Drops} dropped");
    }
}
