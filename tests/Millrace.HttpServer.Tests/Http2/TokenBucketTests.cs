using Millrace.Engine;

namespace Millrace.HttpServer.Tests.Http2;

public class TokenBucketTests
{
    [Fact]
    public void A_burst_is_allowed_and_no_more()
    {
        var bucket = new TokenBucket(3, 1);
        Assert.True(bucket.TrySpend(1, 1000));
        Assert.True(bucket.TrySpend(2, 1000));
        Assert.False(bucket.TrySpend(1, 1000));
    }

    [Fact]
    public void Time_gives_back_what_was_spent_and_no_more()
    {
        var bucket = new TokenBucket(3, 2);
        Assert.True(bucket.TrySpend(3, 1000));
        Assert.True(bucket.TrySpend(1, 1500));
        Assert.False(bucket.TrySpend(1, 1999));
        Assert.True(bucket.TrySpend(3, 1_000_000));
        Assert.False(bucket.TrySpend(1, 1_000_000));
    }

    [Fact]
    public void What_is_earned_is_kept()
    {
        var bucket = new TokenBucket(1, 1);
        bucket.Earn(10);
        Assert.True(bucket.TrySpend(11, 1000));
        Assert.False(bucket.TrySpend(1, 1000));
    }
}
