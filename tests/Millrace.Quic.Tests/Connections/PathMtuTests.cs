using Millrace.Quic.Connections;

namespace Millrace.Quic.Tests.Connections;

public sealed class PathMtuTests
{
    private const long Second = QuicClock.Second;

    [Fact]
    [Trait("Rfc", "9000-14.3")]
    public void The_largest_size_is_tried_first()
    {
        PathMtu mtu = new(1452);
        Assert.Equal(0, mtu.ProbeSize);
        mtu.Enable();
        Assert.Equal(1452, mtu.ProbeSize);
        mtu.OnProbeSent();
        Assert.Equal(0, mtu.ProbeSize);
        mtu.OnProbeAcknowledged(1452, 0);
        Assert.Equal(1452, mtu.Size);
        Assert.Equal(0, mtu.ProbeSize);
    }

    [Theory]
    [InlineData(1200)]
    [InlineData(1201)]
    [InlineData(1280)]
    [InlineData(1399)]
    [InlineData(1499)]
    [Trait("Rfc", "8899-5.3.2")]
    public void A_search_comes_close_to_what_the_path_carries(int limit)
    {
        PathMtu mtu = new(1500);
        mtu.Enable();
        int probes = 0;
        for (; mtu.ProbeSize > 0 && probes < 100; probes++)
        {
            int size = mtu.ProbeSize;
            Assert.InRange(size, mtu.Size + 1, 1500);
            mtu.OnProbeSent();
            if (size <= limit)
            {
                mtu.OnProbeAcknowledged(size, 0);
            }
            else
            {
                mtu.OnProbeLost(size, 0);
            }
        }

        Assert.InRange(mtu.Size, Math.Max(1200, limit - 20), limit);
        Assert.InRange(probes, 1, 30);
    }

    [Fact]
    [Trait("Rfc", "8899-4.3")]
    public void A_path_that_loses_large_datagrams_only_is_found_out()
    {
        PathMtu mtu = Raised();
        bool hasFallen = false;
        for (int i = 0; i < 20 && !hasFallen; i++)
        {
            Assert.False(mtu.OnLost(1100, 0));
            hasFallen = mtu.OnLost(1400, 0);
        }

        Assert.True(hasFallen);
        Assert.Equal(1200, mtu.Size);
    }

    [Fact]
    public void Losses_between_acknowledged_large_datagrams_are_congestion()
    {
        PathMtu mtu = Raised();
        for (int i = 0; i < 100; i++)
        {
            Assert.False(mtu.OnLost(1452, 0));
            mtu.OnAcknowledged(1452);
        }

        Assert.Equal(1452, mtu.Size);
    }

    [Fact]
    [Trait("Rfc", "8899-5.1.1")]
    public void A_search_begins_again_after_some_time()
    {
        PathMtu mtu = Raised();
        Assert.True(mtu.OnSilence(0));
        Assert.Equal(1200, mtu.Size);
        Assert.Equal(0, mtu.ProbeSize);
        Assert.Equal(60 * Second, mtu.NextTimeout);
        mtu.OnTimeout(60 * Second);
        Assert.Equal(1452, mtu.ProbeSize);
    }

    [Fact]
    [Trait("Rfc", "9000-18.2")]
    public void The_peers_limit_is_not_exceeded()
    {
        PathMtu mtu = new(1452);
        mtu.LimitTo(1300);
        mtu.Enable();
        Assert.Equal(1300, mtu.ProbeSize);
        mtu.OnProbeSent();
        mtu.OnProbeAcknowledged(1300, 0);
        mtu.OnTimeout(mtu.NextTimeout);
        Assert.Equal(0, mtu.ProbeSize);
    }

    private static PathMtu Raised()
    {
        PathMtu mtu = new(1452);
        mtu.Enable();
        mtu.OnProbeSent();
        mtu.OnProbeAcknowledged(1452, 0);
        return mtu;
    }
}
