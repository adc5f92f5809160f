using System.Collections.Concurrent;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connections;

/// <summary>What a peak leaves behind at a reactor, and when it goes.</summary>
public class TrimmingTests : EngineTest
{
    private const int Peak = 200;

    [Fact]
    public async Task Connections_of_a_peak_go_when_none_comes_again_and_their_slots_serve_on()
    {
        var seen = new ConcurrentBag<WeakReference>();
        Listener listener = await ServeAsync(
            connection =>
            {
                seen.Add(new WeakReference(connection));
                return Handlers.EchoAsync(connection);
            },
            Options() with { Reactors = 1 });
        await PeakAsync(listener);
        int before = await ObjectsAsync();
        Assert.InRange(before, Peak / 2, Peak);

        // The first period learns what lies unused.
        await TrimAsync();
        Assert.Equal(before, await ObjectsAsync());
        await TrimAsync();
        Assert.InRange(await ObjectsAsync(), 1, 16);
        GC.Collect();
        Assert.InRange(seen.Count(static each => each.IsAlive), 0, 40);
        await PeakAsync(listener);
        Assert.InRange(await ObjectsAsync(), Peak / 2, Peak);
    }

    [Fact]
    public async Task What_is_in_use_again_and_again_stays()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options() with { Reactors = 1 });
        for (int i = 0; i < 6; i++)
        {
            await PeakAsync(listener);
            await TrimAsync();
            Assert.InRange(await ObjectsAsync(), Peak / 2, Peak);
        }
    }

    private async Task PeakAsync(Listener listener)
    {
        Client[] clients = await Task.WhenAll(Enumerable.Range(0, Peak).Select(_ => Client.ConnectAsync(listener.EndPoint)));
        foreach (Client client in clients)
        {
            await client.SendAsync("x"u8.ToArray());
            await client.ReceiveAsync(1).Within();
        }

        foreach (Client client in clients)
        {
            client.Dispose();
        }

        await Waiting.UntilAsync(() => Reactor.Connections.Count == 0, "all have ended");
    }

    /// <summary>What a period does.</summary>
    private Task TrimAsync() => Reactor.PostAsync(() => Reactor.Connections.Trim(all: false)).Within();

    private async Task<int> ObjectsAsync()
    {
        int objects = 0;
        await Reactor.PostAsync(() => objects = Reactor.Connections.Objects).Within();
        return objects;
    }
}
