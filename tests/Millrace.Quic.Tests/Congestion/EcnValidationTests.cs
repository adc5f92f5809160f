using Millrace.Quic.Congestion;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Tests.Congestion;

/// <summary>Validation of ECN (RFC 9000, section 13.4.2 and appendix A.4).</summary>
public class EcnValidationTests
{
    private const PacketSpace Space = PacketSpace.Application;

    [Fact]
    [Trait("Rfc", "9000-A.4")]
    public void The_first_packets_are_marked_as_a_test()
    {
        var ecn = new EcnValidation(isEnabled: true);
        Send(ecn, 10);
        Assert.Equal(EcnState.Unknown, ecn.State);
        Assert.Equal(EcnMark.NotEct, ecn.Mark);
    }

    [Fact]
    [Trait("Rfc", "9000-13.4.2")]
    public void Counts_of_the_peer_prove_the_path()
    {
        var ecn = new EcnValidation(isEnabled: true);
        Send(ecn, 10);
        Assert.False(ecn.OnAck(Space, 4, new EcnCounts(4, 0, 0)));
        Assert.Equal(EcnState.Capable, ecn.State);
        Assert.Equal(EcnMark.Ect0, ecn.Mark);
    }

    [Fact]
    [Trait("Rfc", "9000-13.4.2.1")]
    public void An_ack_without_counts_fails_it()
    {
        var ecn = new EcnValidation(isEnabled: true);
        Send(ecn, 3);
        ecn.OnAck(Space, 0, null);
        Assert.Equal(EcnState.Testing, ecn.State);
        ecn.OnAck(Space, 1, null);
        Assert.Equal(EcnState.Failed, ecn.State);
        Assert.Equal(EcnMark.NotEct, ecn.Mark);
    }

    [Theory]
    [Trait("Rfc", "9000-13.4.2.1")]
    [InlineData(3, 0, 0)]
    [InlineData(0, 0, 0)]
    [InlineData(4, 1, 0)]
    [InlineData(11, 0, 0)]
    [InlineData(5, 0, 6)]
    [InlineData(2, 0, 1)]
    public void Counts_that_cannot_be_true_fail_it(int ect0, int ect1, int ce)
    {
        var ecn = new EcnValidation(isEnabled: true);
        Send(ecn, 10);
        Assert.False(ecn.OnAck(Space, 4, new EcnCounts(ect0, ect1, ce)));
        Assert.Equal(EcnState.Failed, ecn.State);
    }

    [Fact]
    [Trait("Rfc", "9000-13.4.2.1")]
    public void Counts_that_shrink_fail_it()
    {
        var ecn = new EcnValidation(isEnabled: true);
        Send(ecn, 10);
        ecn.OnAck(Space, 4, new EcnCounts(2, 0, 2));
        ecn.OnAck(Space, 1, new EcnCounts(5, 0, 1));
        Assert.Equal((EcnState.Failed, EcnMark.NotEct), (ecn.State, ecn.Mark));
    }

    [Fact]
    [Trait("Rfc", "9002-7.1")]
    public void More_marks_of_the_network_are_congestion()
    {
        var ecn = new EcnValidation(isEnabled: true);
        Send(ecn, 10);
        Assert.True(ecn.OnAck(Space, 4, new EcnCounts(3, 0, 1)));
        Assert.False(ecn.OnAck(Space, 2, new EcnCounts(5, 0, 1)));
        Assert.True(ecn.OnAck(Space, 2, new EcnCounts(6, 0, 2)));
    }

    [Fact]
    [Trait("Rfc", "9000-A.4")]
    public void A_test_whose_packets_are_all_lost_fails()
    {
        var ecn = new EcnValidation(isEnabled: true);
        Send(ecn, 10);
        for (int i = 0; i < 9; i++)
        {
            ecn.OnPacketLost();
            Assert.Equal(EcnState.Unknown, ecn.State);
        }

        ecn.OnPacketLost();
        Assert.Equal(EcnState.Failed, ecn.State);
    }

    [Fact]
    [Trait("Rfc", "9000-A.4")]
    public void A_probe_is_not_marked_while_the_path_is_not_proved()
    {
        var ecn = new EcnValidation(isEnabled: true);
        Send(ecn, 1);
        ecn.OnTimeout();
        Assert.Equal(EcnMark.NotEct, ecn.Mark);

        // The probe is acknowledged, and the first packet is lost, as any may be: the test goes on.
        ecn.OnAck(Space, 0, null);
        ecn.OnPacketLost();
        Assert.Equal(EcnMark.Ect0, ecn.Mark);
        Send(ecn, 1);
        ecn.OnPacketLost();
        Assert.Equal(EcnState.Testing, ecn.State);
        Send(ecn, 1);
        ecn.OnPacketLost();
        Assert.Equal(EcnState.Failed, ecn.State);
    }

    [Fact]
    public void A_path_that_is_proved_is_marked_in_probes_too()
    {
        var ecn = new EcnValidation(isEnabled: true);
        Send(ecn, 1);
        Assert.False(ecn.OnAck(Space, 1, new EcnCounts(1, 0, 0)));
        ecn.OnTimeout();
        Assert.Equal(EcnMark.Ect0, ecn.Mark);
    }

    [Fact]
    [Trait("Rfc", "9000-13.4.2")]
    public void Each_space_has_counts_of_its_own_and_they_outlive_a_path()
    {
        var ecn = new EcnValidation(isEnabled: true);
        ecn.OnPacketSent(PacketSpace.Initial, ecn.Mark);
        Send(ecn, 4);
        ecn.OnAck(PacketSpace.Initial, 1, new EcnCounts(1, 0, 0));
        ecn.OnAck(Space, 4, new EcnCounts(4, 0, 0));
        Assert.Equal(EcnState.Capable, ecn.State);

        ecn.Reset();
        Assert.Equal(EcnState.Testing, ecn.State);
        Send(ecn, 1);
        ecn.OnAck(Space, 1, new EcnCounts(4, 0, 0));
        Assert.Equal(EcnState.Failed, ecn.State);
    }

    [Fact]
    public void An_end_that_does_not_mark_ignores_counts()
    {
        var ecn = new EcnValidation(isEnabled: false);
        Assert.Equal(EcnMark.NotEct, ecn.Mark);
        Assert.False(ecn.OnAck(Space, 0, new EcnCounts(0, 0, 7)));
        Assert.Equal(EcnState.Disabled, ecn.State);
    }

    private static void Send(EcnValidation ecn, int count)
    {
        for (int i = 0; i < count; i++)
        {
            Assert.Equal(EcnMark.Ect0, ecn.Mark);
            ecn.OnPacketSent(Space, ecn.Mark);
        }
    }
}
