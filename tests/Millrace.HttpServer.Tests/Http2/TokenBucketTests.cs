using Millrace.Engine;

namespace Millrace.HttpServer.Tests.Http2;

public class TokenBucketTests
{
    [Fact]
    public void A_burst_is_allowed_and_no_more()
    {
        var allowance = new TokenBucket(3, 1);
        Assert.True(allowance.TrySpend(1, 1000));
        Assert.True(allowance.TrySpend(2, 1000));
        Assert.False(allowance.TrySpend(1, 1000));
    }

    [Fact]
    public void Time_gives_back_what_was_spent_and_no_more()
    {
        var allowance = new TokenBucket(3, 2);
        Assert.True(allowance.TrySpend(3, 1000));
        Assert.True(allowance.TrySpend(1, 1500));
        Assert.False(allowance.TrySpend(1, 1999));
        Assert.True(allowance.TrySpend(3, 1_000_000));
        Assert.False(allowance.TrySpend(1, 1_000_000));
    }

    [Fact]
    public void What_is_earned_is_kept()
    {
        var allowance = new TokenBucket(1, 1);
        allowance.Earn(10);
        Assert.True(allowance.TrySpend(11, 1000));
        Assert.False(allowance.TrySpend(1, 1000));
    }
}
