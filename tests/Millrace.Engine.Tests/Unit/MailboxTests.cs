using Millrace.Engine.Loop;

namespace Millrace.Engine.Tests.Unit;

public class MailboxTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Fact]
    public void Posts_of_many_threads_all_arrive_each_threads_in_its_order()
    {
        const int Threads = 8;
        const int PostsPerThread = 20_000;
        using var woken = new AutoResetEvent(initialState: false);
        int wakes = 0;
        var mailbox = new Mailbox(() =>
        {
            Interlocked.Increment(ref wakes);
            woken.Set();
        });
        int[] lastOf = new int[Threads];
        int outOfOrder = 0;
        Action<object?> take = state =>
        {
            (int thread, int number) = ((int, int))state!;
            outOfOrder += number == lastOf[thread] + 1 ? 0 : 1;
            lastOf[thread] = number;
        };
        Thread[] threads = [.. Enumerable.Range(0, Threads).Select(thread => new Thread(() =>
        {
            for (int number = 1; number <= PostsPerThread; number++)
            {
                mailbox.Post(take, (thread, number));
            }
        })
        { IsBackground = true })];
        Array.ForEach(threads, thread => thread.Start());

        int drained = 0;
        int drains = 0;
        while (drained < Threads * PostsPerThread)
        {
            // A reactor's turn: it waits in the kernel only while nothing is announced, and drains only what is.
            Assert.True(mailbox.IsAnnounced || woken.WaitOne(Patience), $"no wake although only {drained} posts were drained");
            if (mailbox.IsAnnounced)
            {
                drained += mailbox.Drain();
                drains++;
            }
        }

        Array.ForEach(threads, thread => thread.Join());
        Assert.Equal(Threads * PostsPerThread, drained);
        Assert.Equal(0, outOfOrder);
        Assert.All(lastOf, last => Assert.Equal(PostsPerThread, last));
        // One before the first drain, and no more than one between two.
        Assert.InRange(wakes, 1, drains + 1);
    }

    [Fact]
    public void No_post_is_left_lying_when_all_posters_wait_for_it()
    {
        // The poster waits until its whole burst was taken, so nothing that comes later makes up for a wake that is missing.
        // The owner looks for a moment before it waits: its drain meets the burst half-way.
        const int Bursts = 20_000;
        const int PostsPerBurst = 3;
        using var woken = new SemaphoreSlim(0);
        using var taken = new SemaphoreSlim(0);
        var mailbox = new Mailbox(() => woken.Release());
        int left = 0;
        Action<object?> take = _ => left = left == 0 ? PostsPerBurst - 1 : left - 1;
        var poster = new Thread(() =>
        {
            // When it waits in vain it gives up; the other side tells.
            for (int i = 0; i < Bursts && (i == 0 || taken.Wait(Patience)); i++)
            {
                for (int post = 0; post < PostsPerBurst; post++)
                {
                    mailbox.Post(take, null);
                }
            }
        })
        { IsBackground = true };
        poster.Start();

        for (int drained = 0; drained < Bursts * PostsPerBurst;)
        {
            for (int check = 0; check < 1_000 && !mailbox.IsAnnounced; check++)
            {
                Thread.SpinWait(1);
            }

            Assert.True(mailbox.IsAnnounced || woken.Wait(Patience), $"after {drained} posts one woke nobody");
            int count = mailbox.IsAnnounced ? mailbox.Drain() : 0;
            drained += count;
            if (count > 0 && left == 0)
            {
                taken.Release();
            }
        }

        poster.Join();
    }

    [Fact]
    public void Posts_before_the_next_look_share_one_wake()
    {
        int wakes = 0;
        var mailbox = new Mailbox(() => wakes++);
        Assert.False(mailbox.IsAnnounced);

        for (int i = 0; i < 10; i++)
        {
            mailbox.Post(static _ => { }, null);
        }

        Assert.Equal(1, wakes);
        Assert.True(mailbox.IsAnnounced);
        Assert.Equal(10, mailbox.Drain());
        Assert.False(mailbox.IsAnnounced);
        mailbox.Post(static _ => { }, null);
        Assert.Equal(2, wakes);
        Assert.Equal(1, mailbox.Drain());
        Assert.Equal(0, mailbox.Drain());
    }

    [Fact]
    public void What_an_action_posts_waits_for_the_next_drain_and_is_announced()
    {
        int wakes = 0;
        List<string> ran = [];
        var mailbox = new Mailbox(() => wakes++);
        Action<object?> note = state => ran.Add((string)state!);
        mailbox.Post(
            state =>
            {
                note(state);
                mailbox.Post(note, "posted within");
            },
            "first");
        mailbox.Post(note, "second");

        Assert.Equal(2, mailbox.Drain());
        Assert.Equal(["first", "second"], ran);
        Assert.Equal(2, wakes);
        Assert.True(mailbox.IsAnnounced);

        Assert.Equal(1, mailbox.Drain());
        Assert.Equal(["first", "second", "posted within"], ran);
    }

    [Fact]
    public void An_action_that_posts_itself_again_does_not_keep_the_drain_from_ending()
    {
        int runs = 0;
        var mailbox = new Mailbox(() => { });
        void Again(object? state)
        {
            runs++;
            mailbox.Post(Again, state);
        }

        mailbox.Post(Again, null);
        for (int i = 0; i < 5; i++)
        {
            Assert.Equal(1, mailbox.Drain());
        }

        Assert.Equal(5, runs);
    }
}
