using Millrace.Engine.Accounting;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Files;

namespace Millrace.Engine.Tests.Accounting;

public class AcceptLimitTests
{
    [Fact]
    public void The_limit_is_lower_for_an_accept_and_then_what_it_was()
    {
        ResourceLimit before = Limit();
        using (AcceptLimit.Lower())
        {
            Assert.Equal(before with { Soft = before.Soft - 16 }, Limit());
        }

        Assert.Equal(before, Limit());
    }

    [Fact]
    public void A_limit_that_is_set_during_an_accept_stays()
    {
        ResourceLimit before = Limit();
        ResourceLimit set = before with { Soft = before.Soft - 1 };
        try
        {
            using (AcceptLimit.Lower())
            {
                Assert.Equal(0, DescriptorLimit.Set(set));
            }

            Assert.Equal(set, Limit());
        }
        finally
        {
            Assert.Equal(0, DescriptorLimit.Set(before));
        }
    }

    [Fact]
    public async Task A_limit_that_is_set_at_any_moment_of_accepts_stays()
    {
        ResourceLimit before = Limit();
        bool isDone = false;
        int accepts = 0;
        var accepting = Task.Run(() =>
        {
            for (; !Volatile.Read(ref isDone); Interlocked.Increment(ref accepts))
            {
                AcceptLimit.Lower().Dispose();
            }
        });
        try
        {
            for (ulong i = 1; i <= 300; i++)
            {
                ResourceLimit set = before with { Soft = before.Soft - (i % 2 * 100) };
                Assert.Equal(0, DescriptorLimit.Set(set));
                int until = Volatile.Read(ref accepts) + 2;
                SpinWait.SpinUntil(() => Volatile.Read(ref accepts) >= until, EngineTest.Patience);
                Assert.Contains(Limit().Soft, new[] { set.Soft, set.Soft - 16 });
            }
        }
        finally
        {
            Volatile.Write(ref isDone, true);
            await accepting.Within();
            Assert.Equal(0, DescriptorLimit.Set(before));
        }
    }

    private static ResourceLimit Limit()
    {
        Assert.Equal(0, FileCalls.GetDescriptorLimit(out ResourceLimit limit));
        return limit;
    }
}
