using Millrace.Engine.Listening;

namespace Millrace.Engine.Tests.Loop;

/// <summary>Two who want the same thing without a lock.</summary>
public class OwnershipGateTests
{
    [Fact]
    public void Who_uses_it_tells_the_owner_who_came_meanwhile()
    {
        var claim = new OwnershipGate();
        Assert.True(claim.TryUse());
        Assert.False(claim.TryEnd());
        Assert.True(claim.IsWanted);
        Assert.True(claim.GiveBack());
        Assert.False(claim.TryUse());
        Assert.True(claim.TryEnd());
        Assert.False(claim.TryUse());
    }

    [Fact]
    public void Nobody_is_told_where_nobody_came()
    {
        var claim = new OwnershipGate();
        for (int i = 0; i < 3; i++)
        {
            Assert.True(claim.TryUse());
            Assert.False(claim.GiveBack());
        }
    }

    [Fact]
    public void It_is_never_used_after_its_end_and_ends_once_whoever_comes_first()
    {
        for (int round = 0; round < 500; round++)
        {
            var claim = new OwnershipGate();
            int ended = 0;
            bool usedAfter = false;
            using var start = new Barrier(2);
            var user = new Thread(() =>
            {
                start.SignalAndWait();
                for (int i = 0; i < 4 && claim.TryUse(); i++)
                {
                    usedAfter |= Volatile.Read(ref ended) > 0;
                    if (claim.GiveBack() && claim.TryEnd())
                    {
                        Interlocked.Increment(ref ended);
                    }
                }
            });
            user.Start();
            start.SignalAndWait();
            if (claim.TryEnd())
            {
                Interlocked.Increment(ref ended);
            }

            user.Join();
            Assert.Equal(1, ended);
            Assert.False(usedAfter);
        }
    }
}
