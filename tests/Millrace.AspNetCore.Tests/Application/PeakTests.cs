using System.Buffers;
using System.Collections.Concurrent;
using System.Diagnostics;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Safety.Kit;
using Millrace.Engine;

namespace Millrace.AspNetCore.Tests.Application;

/// <summary>
/// What a peak of connections has reactors keep, and what of it is left once they have been idle: by counts, as what a process has of the
/// system depends on the machine and on the garbage collector.
/// </summary>
public class PeakTests
{
    private const int Reactors = 2;
    private const int Connections = 300;

    /// <summary>What a reactor keeps for the next connections.</summary>
    private const int ObjectsKept = 16;

    [Fact]
    public async Task Behind_a_peak_an_idle_reactor_keeps_a_few_connections_and_no_memory()
    {
        var pools = new CountedPools();
        var held = new ConcurrentBag<long>();
        var batches = new ConcurrentBag<int>();
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(
            Reactors,
            routes => routes.MapGet("/page", async context =>
            {
                await context.Response.WriteAsync(new string('x', 20_000));
                if (Reactor.Current is { } reactor)
                {
                    held.Add(reactor.Pools.HeldBytes);
                    batches.Add(reactor.Batches.Lent + reactor.Batches.Kept);
                }
            }),
            services: services => services.AddSingleton<IMemoryPoolFactory<byte>>(pools));

        Kept[] before = await PeakAsync(guarded);
        Assert.InRange(before.Sum(static each => each.Connections), Connections, int.MaxValue);
        Assert.InRange(pools.Most, 16, int.MaxValue);
        Assert.InRange(held.Max(), 1, long.MaxValue);
        Assert.InRange(batches.Max(), 1, int.MaxValue);

        foreach (Reactor reactor in guarded.Group.Reactors)
        {
            await Waiting.UntilAsync(() => reactor.Connections.Count == 0, static () => "Connections have not ended.");
        }

        // Kestrel's part of a connection ends a little later than the reactor's.
        Kept[] after = await PassPeriodsAsync(guarded);
        for (var watch = Stopwatch.StartNew(); pools.Rented > 0 && watch.Elapsed < Waiting.Patience; after = await PassPeriodsAsync(guarded))
        {
            await Task.Delay(5, TestContext.Current.CancellationToken);
        }

        Assert.Multiple(
            () => Assert.Equal(0, pools.Rented),
            () => Assert.All(after, static each => Assert.Equal(0, each.Batches)),
            () => Assert.All(after, static each => Assert.Equal(0, each.Bytes)),
            () => Assert.All(after, static each => Assert.InRange(each.Connections, 0, ObjectsKept)));
    }

    private static async Task<Kept[]> PeakAsync(GuardedApplication guarded)
    {
        RawClient[] clients = await Task.WhenAll(Enumerable.Range(0, Connections).Select(_ => guarded.Application.ConnectAsync()));
        try
        {
            for (int i = 0; i < 3; i++)
            {
                await Task.WhenAll(clients.Select(static async client => Assert.Equal(200, (await client.GetAsync("/page")).Status)));
            }

            return await Task.WhenAll(guarded.Group.Reactors.Select(static reactor => RunAsync(reactor, () => Kept.Of(reactor)))).Within();
        }
        finally
        {
            Array.ForEach(clients, static client => client.Dispose());
        }
    }

    private static Task<Kept[]> PassPeriodsAsync(GuardedApplication guarded) =>
        Task.WhenAll(guarded.Group.Reactors.Select(PassPeriodsAsync)).Within();

    /// <summary>Two, of which the second sees that there is no traffic any more.</summary>
    private static Task<Kept> PassPeriodsAsync(Reactor reactor) => RunAsync(reactor, () =>
    {
        for (int i = 0; i < 2; i++)
        {
            reactor.MemoryTrimmer.Arm(reactor.NowMs);
            reactor.MemoryTrimmer.RunDue(reactor.MemoryTrimmer.DueMs, reactor.Counters.Completions);
        }

        return Kept.Of(reactor);
    });

    private static Task<T> RunAsync<T>(Reactor reactor, Func<T> run)
    {
        var ran = new TaskCompletionSource<T>(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.Post(_ => ran.SetResult(run()), null);
        return ran.Task;
    }

    /// <summary>What a reactor has, in use or not.</summary>
    private readonly record struct Kept(int Connections, int Batches, long Bytes)
    {
        public static Kept Of(Reactor reactor) =>
            new(reactor.Connections.Objects, reactor.Batches.Lent + reactor.Batches.Kept, reactor.Pools.HeldBytes);
    }

    /// <summary>All pools of a server, whose blocks are counted together. Any thread.</summary>
    private sealed class CountedPools : IMemoryPoolFactory<byte>
    {
        private int _rented;
        private int _most;

        public int Rented => Volatile.Read(ref _rented);

        public int Most => Volatile.Read(ref _most);

        public MemoryPool<byte> Create(MemoryPoolOptions? options = null) => new Pool(this);

        private sealed class Pool(CountedPools all) : MemoryPool<byte>
        {
            public override int MaxBufferSize => 4096;

            public override IMemoryOwner<byte> Rent(int minBufferSize = -1)
            {
                int rented = Interlocked.Increment(ref all._rented);
                int most;
                while (rented > (most = all.Most))
                {
                    Interlocked.CompareExchange(ref all._most, rented, most);
                }

                return new Owner(all);
            }

            protected override void Dispose(bool disposing)
            {
            }
        }

        private sealed class Owner(CountedPools all) : IMemoryOwner<byte>
        {
            private int _isReturned;

            /// <summary>Pinned, as Kestrel's is.</summary>
            public Memory<byte> Memory { get; } = GC.AllocateUninitializedArray<byte>(4096, pinned: true);

            public void Dispose()
            {
                if (Interlocked.Exchange(ref _isReturned, 1) == 0)
                {
                    Interlocked.Decrement(ref all._rented);
                }
            }
        }
    }
}
