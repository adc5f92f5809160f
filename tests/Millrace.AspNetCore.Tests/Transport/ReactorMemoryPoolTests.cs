using System.Buffers;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.AspNetCore.Transport;
using Millrace.AspNetCore.Transport.Listening;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>What a reactor rents out and takes back itself, and what goes to Kestrel's pool.</summary>
public class ReactorMemoryPoolTests
{
    [Fact]
    public async Task On_the_reactor_the_block_that_was_returned_last_is_rented_first() => await OnReactorAsync(static pool =>
    {
        IMemoryOwner<byte> first = pool.Rent();
        IMemoryOwner<byte> second = pool.Rent(4096);
        Assert.NotSame(first, second);
        Assert.Equal(4096, first.Memory.Length);
        first.Dispose();
        second.Dispose();
        using IMemoryOwner<byte> third = pool.Rent(1);
        Assert.Same(second, third);
        using IMemoryOwner<byte> fourth = pool.Rent();
        Assert.Same(first, fourth);
    });

    [Fact]
    public async Task A_block_that_is_returned_twice_is_rented_once() => await OnReactorAsync(static pool =>
    {
        IMemoryOwner<byte> first = pool.Rent();
        first.Dispose();
        first.Dispose();
        using IMemoryOwner<byte> second = pool.Rent();
        using IMemoryOwner<byte> third = pool.Rent();
        Assert.NotSame(second, third);
    });

    [Fact]
    public async Task More_than_a_block_is_refused_as_by_kestrels() => await OnReactorAsync(static pool =>
    {
        Assert.Equal(4096, pool.MaxBufferSize);
        Assert.Throws<ArgumentOutOfRangeException>(() => pool.Rent(4097));
    });

    [Fact]
    public async Task Of_a_pool_whose_blocks_differ_one_is_lent_again_only_where_it_is_large_enough()
    {
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1 });
        using var pool = new ReactorMemoryPool(group.Reactors[0], new FittingPool());
        int[] lengths = await RunAsync(group.Reactors[0], () => ((int[])[16, 4096, 100]).Select(LengthOf).ToArray());
        Assert.Equal((int[])[16, 4096, 4096], lengths);

        int LengthOf(int bytes)
        {
            using IMemoryOwner<byte> block = pool.Rent(bytes);
            return block.Memory.Length;
        }
    }

    [Fact]
    public async Task Others_threads_rent_from_kestrels_and_return_there()
    {
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1 });
        var counted = new CountedPool();
        using var pool = new ReactorMemoryPool(group.Reactors[0], counted);
        IMemoryOwner<byte> mine = pool.Rent();
        Assert.Equal(1, counted.Rented);
        mine.Dispose();
        Assert.Equal(0, counted.Rented);

        IMemoryOwner<byte> theirs = await RunAsync(group.Reactors[0], () => pool.Rent());
        Assert.Equal(1, counted.Rented);
        theirs.Dispose();
        Assert.Equal(0, counted.Rented);
    }

    [Fact]
    public async Task What_is_kept_has_a_bound_and_is_given_back_at_the_end()
    {
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1 });
        var counted = new CountedPool();
        using var pool = new ReactorMemoryPool(group.Reactors[0], counted);
        await RunAsync(group.Reactors[0], () =>
        {
            IMemoryOwner<byte>[] blocks = [.. Enumerable.Range(0, 2000).Select(_ => pool.Rent())];
            Assert.Equal(2000, counted.Rented);
            Array.ForEach(blocks, static block => block.Dispose());
            return true;
        });
        Assert.Equal(1024, counted.Rented);
        pool.Dispose();
        Assert.Equal(0, counted.Rented);
        Assert.True(counted.IsDisposed);
    }

    [Fact]
    public async Task What_lies_unused_goes_back_and_what_is_used_again_stays()
    {
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1 });
        var counted = new CountedPool();
        using var pool = new ReactorMemoryPool(group.Reactors[0], counted);
        await RunAsync(group.Reactors[0], () =>
        {
            Use(64);
            Assert.NotEqual(long.MaxValue, group.Reactors[0].MemoryTrimmer.DueMs);
            // They were in use until now.
            pool.Trim(all: false);
            Assert.Equal(64, counted.Rented);
            for (int i = 0; i < 10; i++)
            {
                Use(8);
                pool.Trim(all: false);
                Assert.Equal(8, counted.Rented);
            }

            pool.Trim(all: true);
            Assert.Equal(0, counted.Rented);
            return true;
        });

        void Use(int count)
        {
            IMemoryOwner<byte>[] blocks = [.. Enumerable.Range(0, count).Select(_ => pool.Rent())];
            Array.ForEach(blocks, static block => block.Dispose());
        }
    }

    [Fact]
    public async Task Of_reactors_that_were_given_it_ends_on_its_reactor_and_what_comes_back_later_is_given_back()
    {
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1 });
        var counted = new CountedPool();
        var transport = new TransportReactors(
            new MillraceTransportOptions { ReactorGroup = group },
            new CountedPools(counted),
            NullLoggerFactory.Instance,
            new TransportLog(NullLogger.Instance));
        await transport.StartedAsync(CancellationToken.None);
        MemoryPool<byte> pool = transport.Pools[0];
        IMemoryOwner<byte> late = await RunAsync(group.Reactors[0], () =>
        {
            using IMemoryOwner<byte> kept = pool.Rent();
            return pool.Rent();
        });

        await transport.DisposeAsync();

        Assert.Null(Reactor.Current);
        Assert.Same(group.Reactors[0], counted.DisposedBy);
        Assert.Equal(1, counted.Rented);
        await RunAsync(group.Reactors[0], () =>
        {
            late.Dispose();
            return true;
        });
        Assert.Equal(0, counted.Rented);
    }

    private static async Task OnReactorAsync(Action<MemoryPool<byte>> test)
    {
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1 });
        using var pool = new ReactorMemoryPool(group.Reactors[0], KestrelPools.Factory.Create());
        await RunAsync(group.Reactors[0], () =>
        {
            test(pool);
            return true;
        });
    }

    private static Task<T> RunAsync<T>(Reactor reactor, Func<T> run)
    {
        var ran = new TaskCompletionSource<T>(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.Post(
            _ =>
            {
                try
                {
                    ran.SetResult(run());
                }
                catch (Exception error)
                {
                    ran.SetException(error);
                }
            },
            null);
        return ran.Task.WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken);
    }

    /// <summary>One whose blocks are as large as was asked for.</summary>
    private sealed class FittingPool : MemoryPool<byte>
    {
        public override int MaxBufferSize => 65_536;

        public override IMemoryOwner<byte> Rent(int minBufferSize = -1) => new Owner(Math.Max(minBufferSize, 16));

        protected override void Dispose(bool disposing)
        {
        }

        private sealed class Owner(int bytes) : IMemoryOwner<byte>
        {
            public Memory<byte> Memory { get; } = new byte[bytes];

            public void Dispose()
            {
            }
        }
    }

    private sealed class CountedPools(CountedPool pool) : IMemoryPoolFactory<byte>
    {
        public MemoryPool<byte> Create(MemoryPoolOptions? options = null) => pool;
    }

    private sealed class CountedPool : MemoryPool<byte>
    {
        public int Rented { get; private set; }

        public bool IsDisposed { get; private set; }

        public override int MaxBufferSize => 4096;

        public override IMemoryOwner<byte> Rent(int minBufferSize = -1)
        {
            Rented++;
            return new Owner(this);
        }

        /// <summary>The reactor on whose thread it was.</summary>
        public Reactor? DisposedBy { get; private set; }

        protected override void Dispose(bool disposing) => (IsDisposed, DisposedBy) = (true, Reactor.Current);

        private sealed class Owner(CountedPool pool) : IMemoryOwner<byte>
        {
            public Memory<byte> Memory { get; } = new byte[4096];

            public void Dispose() => pool.Rented--;
        }
    }
}
