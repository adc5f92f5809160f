using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.ZeroCopy;

/// <summary>Where sends without a copy cannot be had, and how many bytes are too few.</summary>
public class ZeroCopyOptionTests : EngineTest
{
    [Fact]
    public async Task On_epoll_it_is_ignored_and_said_once()
    {
        Listener listener = await ServeAsync(
            Handlers.EchoAsync, (Options() with { Reactors = 2 }).ZeroCopy() with { Backend = BackendKind.Epoll });
        Client client = await ConnectAsync(listener);
        await client.SendAsync("hello");
        Assert.Equal("hello", await client.ReceiveTextAsync(5));
        Assert.Equal(1, Log.Count(108));
    }

    [Fact]
    public async Task Fewer_than_none_are_refused() =>
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => StartAsync(Options() with { ZeroCopySendBytes = -1 }));
}
