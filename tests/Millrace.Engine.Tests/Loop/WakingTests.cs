using System.Diagnostics;
using Millrace.Engine.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Engine.Tests.Loop;

/// <summary>A reactor is woken by who posts while it waits in the kernel, and by nobody else.</summary>
public class WakingTests : EngineTest
{
    [Fact]
    public async Task Who_posts_while_it_is_awake_does_not_wake_it_and_is_heard_all_the_same()
    {
        await using Script script = await Script.StartAsync();
        using HeldReactor held = await HeldReactor.HoldAsync(script.Reactor);
        int before = script.Kernel.Wakes;
        var ran = new List<int>();
        for (int i = 0; i < 3; i++)
        {
            script.Reactor.Post(number => ran.Add((int)number!), i);
        }

        Task<int> last = script.Reactor.AskAsync(() => script.Kernel.Wakes);
        held.Dispose();
        Assert.Equal(before, await last.Within());
        Assert.Equal([0, 1, 2], ran);
    }

    /// <summary>Each post comes at another moment of the reactor's way to sleep, from which only a wake brings it back.</summary>
    [Fact]
    public async Task No_post_is_missed_on_the_way_to_sleep()
    {
        Reactor reactor = (await StartAsync()).Reactors[0];
        int heard = 0;
        for (int i = 1; i <= 100_000; i++)
        {
            Thread.SpinWait(i % 64);
            reactor.Post(_ => Volatile.Write(ref heard, heard + 1), null);
            long since = Stopwatch.GetTimestamp();
            while (Volatile.Read(ref heard) != i)
            {
                Assert.True(Stopwatch.GetElapsedTime(since) < Patience, $"Post {i} was not heard.");
            }
        }
    }
}
