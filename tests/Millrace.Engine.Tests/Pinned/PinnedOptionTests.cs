using Millrace.Engine.Buffers;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Pinned;

/// <summary>What of the option is seen without a ring of one's own.</summary>
[Trait("Backend", "io_uring")]
public class PinnedOptionTests : EngineTest
{
    [Fact]
    public async Task On_epoll_it_is_ignored_and_said_once()
    {
        Listener listener = await ServeAsync(
            Handlers.EchoAsync, Options() with { Reactors = 2, Backend = BackendKind.Epoll, RegisteredBufferBytes = 1 << 20 });
        Client client = await ConnectAsync(listener);
        await client.SendAsync("here");
        Assert.Equal("here", await client.ReceiveTextAsync(4));
        Assert.Equal(1, Log.Count(108));
    }

    [Fact]
    public async Task Each_reactor_lends_its_own()
    {
        ReactorGroup group = await StartAsync((Options() with { Reactors = 2 }).Pinned());
        var arenas = new List<Arena>();
        foreach (Reactor reactor in group.Reactors)
        {
            arenas.Add(reactor.Backend.Arena!);
            await reactor.SwitchTo();
            Block block = reactor.Pools.Rent(BlockPools.ChunkBytes);
            Assert.True(IsIn(reactor.Backend.Arena!, block));
            reactor.Pools.Return(block);
        }

        await Task.Yield();
        Assert.NotSame(arenas[0], arenas[1]);
    }

    [Theory]
    [InlineData(-1)]
    [InlineData((1 << 30) + 1)]
    public async Task What_the_kernel_would_not_take_is_refused(int bytes) =>
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => StartAsync(Options() with { RegisteredBufferBytes = bytes }));

    private static unsafe bool IsIn(Arena arena, Block block) => arena.Contains(block.Address, (nuint)block.Bytes);
}
