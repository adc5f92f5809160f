using Millrace.HttpServer.RateLimiting;

namespace Millrace.HttpServer.Tests.RateLimiting;

/// <summary>Token buckets that several threads use at once, by a scripted clock.</summary>
public class ClientBucketsTests
{
    private const long Second = 1_000_000_000;

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(1, 100, 200)]
    [InlineData(2, 100, 200)]
    [InlineData(8, 100, 200)]
    [InlineData(8, 1, 1)]
    [InlineData(8, 1_000, 10)]
    public void Ten_seconds_let_the_rate_and_the_burst_pass_with_any_number_of_reactors(int reactors, int perSecond, int burst)
    {
        const int StepMs = 10;
        const int Steps = 1_000;
        var buckets = new ClientBuckets(1024 * 1024);
        long interval = Second / perSecond;
        long admitted = 0;
        long now = Second;
        using var step = new Barrier(reactors, _ => now += StepMs * 1_000_000L);

        RunTogether(reactors, _ =>
        {
            for (int i = 0; i < Steps; i++)
            {
                // More requests than the rate allows, whichever thread is first.
                for (int attempt = 0; attempt < 20 + (burst / reactors); attempt++)
                {
                    Interlocked.Add(ref admitted, buckets.Take(7, now, interval, burst * interval) == 0 ? 1 : 0);
                }

                step.SignalAndWait(Cancellation);
            }
        });

        long expected = (perSecond * 10) + burst;
        Assert.InRange(admitted, expected - perSecond * StepMs / 1000 - 1, expected);
    }

    [Fact]
    public void Each_client_has_a_bucket_of_its_own_while_threads_hammer_on_them()
    {
        const int Clients = 10_000;
        const int Threads = 8;
        const int Burst = 5;
        var buckets = new ClientBuckets(4 * Clients * ClientBuckets.SlotBytes);
        int[] admitted = new int[Clients];

        RunTogether(Threads, thread =>
        {
            var random = new Random(thread);
            for (int i = 0; i < 200_000; i++)
            {
                int client = random.Next(Clients);
                if (buckets.Take(KeyOf(client), Second, Second, Burst * Second) == 0)
                {
                    Interlocked.Increment(ref admitted[client]);
                }
            }
        });

        Assert.Equal(0, buckets.Forgotten);
        Assert.All(admitted, static count => Assert.Equal(Burst, count));
    }

    [Fact]
    public void Slots_that_others_have_had_before_hold_a_full_bucket_while_threads_hammer_on_them()
    {
        const int Clients = 2_000;
        const int Threads = 8;
        const int Burst = 5;
        var buckets = new ClientBuckets(8 * Clients * ClientBuckets.SlotBytes);
        for (int round = 0; round < 20; round++)
        {
            // Each round are other clients; those of the round before are full again.
            int first = round * Clients;
            long now = (round + 1) * 10 * Second;
            int[] admitted = new int[Clients];
            RunTogether(Threads, thread =>
            {
                var random = new Random(thread);
                for (int i = 0; i < 10_000; i++)
                {
                    int client = random.Next(Clients);
                    if (buckets.Take(KeyOf(first + client), now, Second, Burst * Second) == 0)
                    {
                        Interlocked.Increment(ref admitted[client]);
                    }
                }
            });

            Assert.All(admitted, static count => Assert.Equal(Burst, count));
        }

        Assert.Equal(0, buckets.Forgotten);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public void A_million_clients_fit_in_32_MB_and_expire()
    {
        const int Clients = 1_000_000;
        var buckets = new ClientBuckets(RateLimiter.DefaultBytes);
        for (int round = 0; round < 3; round++)
        {
            // Each round are other clients; those of the round before are full again.
            long now = (round + 1) * 10 * Second;
            for (int i = 0; i < Clients; i++)
            {
                Assert.Equal(0, buckets.Take(KeyOf((round * Clients) + i), now, Second, Second));
            }

            int remembered = 0;
            for (int i = 0; i < Clients; i++)
            {
                remembered += buckets.Take(KeyOf((round * Clients) + i), now, Second, Second) > 0 ? 1 : 0;
            }

            Assert.InRange(remembered, 0.999 * Clients, Clients);
        }
    }

    [Fact]
    public void A_full_table_forgets_those_who_are_full_soonest_and_refuses_nobody()
    {
        const int Innocent = 100_000;
        var buckets = new ClientBuckets(1024 * ClientBuckets.SlotBytes);
        ulong[] greedy = [.. Enumerable.Range(0, 20).Select(static i => KeyOf(i))];
        foreach (ulong key in greedy)
        {
            while (buckets.Take(key, Second, Second, 60 * Second) == 0)
            {
            }
        }

        for (int i = 0; i < Innocent; i++)
        {
            Assert.Equal(0, buckets.Take(KeyOf(1000 + i), Second, Second, 60 * Second));
        }

        Assert.InRange(buckets.Forgotten, Innocent - 1024, Innocent);
        Assert.All(greedy, key => Assert.True(buckets.Take(key, Second, Second, 60 * Second) > 0));
    }

    [Fact]
    public void A_full_table_refuses_nobody_while_threads_hammer_on_it()
    {
        const int Threads = 8;
        var buckets = new ClientBuckets(16 * ClientBuckets.SlotBytes);
        long refused = 0;

        RunTogether(Threads, thread =>
        {
            for (int i = 0; i < 50_000; i++)
            {
                // Each client asks once, and could ask twice.
                refused += buckets.Take(KeyOf((i * Threads) + thread), Second + i, Second, 2 * Second) > 0 ? 1 : 0;
            }
        });

        Assert.Equal(0, refused);
    }

    [Fact]
    public void The_wait_is_until_the_bucket_holds_one()
    {
        var buckets = new ClientBuckets(1024);
        Assert.Equal(0, buckets.Take(1, Second, 10 * Second, 20 * Second));
        Assert.Equal(0, buckets.Take(1, Second, 10 * Second, 20 * Second));
        Assert.Equal(10 * Second, buckets.Take(1, Second, 10 * Second, 20 * Second));
        Assert.Equal(4 * Second, buckets.Take(1, 7 * Second, 10 * Second, 20 * Second));
        Assert.Equal(0, buckets.Take(1, 11 * Second, 10 * Second, 20 * Second));
    }

    [Fact]
    public void What_is_given_back_can_be_taken_again()
    {
        var buckets = new ClientBuckets(1024);
        Assert.Equal(0, buckets.Take(1, Second, Second, Second));
        buckets.Return(1, Second);
        buckets.Return(2, Second);
        Assert.Equal(0, buckets.Take(1, Second, Second, Second));
        Assert.True(buckets.Take(1, Second, Second, Second) > 0);
    }

    [Fact]
    public void More_than_was_taken_can_be_given_back_and_the_bucket_is_full()
    {
        var buckets = new ClientBuckets(1024);
        Assert.Equal(0, buckets.Take(1, Second, Second, Second));
        buckets.Return(1, 10 * Second);
        Assert.Equal(0, buckets.Take(1, Second, Second, Second));
        Assert.True(buckets.Take(1, Second, Second, Second) > 0);
    }

    private static ulong KeyOf(int client)
    {
        // As even as a hash (SplitMix64).
        ulong key = unchecked((ulong)(client + 1) * 0x9E3779B97F4A7C15);
        key = unchecked((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9);
        key = unchecked((key ^ (key >> 27)) * 0x94D049BB133111EB);
        return key ^ (key >> 31);
    }

    private static void RunTogether(int threads, Action<int> body)
    {
        Thread[] all = [.. Enumerable.Range(0, threads).Select(index => new Thread(() => body(index)))];
        Array.ForEach(all, static thread => thread.Start());
        Array.ForEach(all, static thread => thread.Join());
    }
}
