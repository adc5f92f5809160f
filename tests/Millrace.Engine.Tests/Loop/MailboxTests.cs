using Millrace.Engine.Loop;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Loop;

/// <summary>Many post, one drains: nothing is lost, a thread's posts keep their order, wakes are few.</summary>
public class MailboxTests
{
    [Fact]
    public async Task Nothing_is_lost_and_each_threads_order_is_kept()
    {
        const int Threads = 8;
        const int Posts = 20_000;
        using var wake = new SemaphoreSlim(0);
        int wakes = 0;
        var mailbox = new Mailbox(() =>
        {
            Interlocked.Increment(ref wakes);
            wake.Release();
        });
        int[] next = new int[Threads];
        int misplaced = 0;
        Action<object?> take = state =>
        {
            (int thread, int number) = ((int, int))state!;
            misplaced += next[thread] == number ? 0 : 1;
            next[thread] = number + 1;
        };
        Task[] posting = [.. Enumerable.Range(0, Threads).Select(thread => Task.Run(() =>
        {
            for (int i = 0; i < Posts; i++)
            {
                mailbox.Post(take, (thread, i));
            }
        }))];

        int drained = 0;
        while (drained < Threads * Posts)
        {
            Assert.True(await wake.WaitAsync(EngineTest.Patience), $"No wake came for {(Threads * Posts) - drained} posts.");
            while (mailbox.IsAnnounced)
            {
                drained += mailbox.Drain();
            }
        }

        await Task.WhenAll(posting).Within();
        Assert.Equal((0, Threads * Posts), (misplaced, drained));
        Assert.InRange(wakes, 1, Threads * Posts);
    }

    [Fact]
    public void Posts_until_the_look_wake_once()
    {
        int wakes = 0;
        var mailbox = new Mailbox(() => wakes++);
        for (int i = 0; i < 100; i++)
        {
            mailbox.Post(static _ => { }, null);
        }

        Assert.Equal(1, wakes);
        Assert.Equal(100, mailbox.Drain());
        Assert.False(mailbox.IsAnnounced);
        mailbox.Post(static _ => { }, null);
        Assert.Equal(2, wakes);
    }

    [Fact]
    public void What_a_post_posts_waits_for_the_next_look()
    {
        var order = new List<int>();
        var mailbox = new Mailbox(static () => { });
        mailbox.Post(
            _ =>
            {
                order.Add(1);
                mailbox.Post(_ => order.Add(2), null);
            },
            null);
        Assert.Equal(1, mailbox.Drain());
        Assert.Equal([1], order);
        Assert.True(mailbox.IsAnnounced);
        mailbox.Drain();
        Assert.Equal([1, 2], order);
    }
}
