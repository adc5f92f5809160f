using Millrace.Engine;
using Millrace.Engine.Buffers;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Tests.Upstreams;

/// <summary>A reactor without memory for what is to be sent to an upstream: the exchange that needs it fails, and no other.</summary>
public class ScarceMemoryTests : UpstreamFixture
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    private static readonly Limits Scarce = new() { BufferBytes = 4_000_000 };

    [Fact]
    public async Task A_request_without_memory_for_its_head_fails_and_the_next_is_served()
    {
        RawUpstream upstream = await StartAsync(limits: Scarce);
        UpstreamWire idle = await WarmUpAsync(upstream);
        var session = new TestSession(Reactor);
        await OnReactorAsync(() => WithoutMemory(() => session.Begin(Pool, TestRequest.Get())));
        await session.EndedAsync();
        Assert.Equal((UpstreamPhase.Failed, 503), (session.Phase, session.Failure.Status));
        await idle.AssertEndsAsync();
        await AssertServesAsync(upstream);
    }

    [Fact]
    public async Task A_request_that_waited_fails_alone_and_not_with_the_one_before_it()
    {
        RawUpstream upstream = await StartAsync(new UpstreamOptions { ConnectionsMax = 1 }, Scarce);
        (TestSession first, UpstreamWire wire) = await BeginAsync(upstream, set: static session => session.TakesHeads = false);
        TestSession waiting = await BeginAsync();
        await wire.SendAsync(Ok);
        await UntilAsync(() => first.Exchange.Phase == UpstreamPhase.Head);
        await OnReactorAsync(() => WithoutMemory(() =>
        {
            first.Exchange.TakeHead();
            Assert.Equal("ok"u8.ToArray(), first.Exchange.Available.ToArray());
            first.Exchange.Consume(2);
            Assert.Equal(UpstreamPhase.Complete, first.Exchange.Phase);
        }));
        await waiting.EndedAsync();
        Assert.Equal(503, waiting.Failure.Status);
        await first.ReleaseAsync();
        await AssertServesAsync(upstream);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_request_without_memory_for_its_body_fails_and_the_next_is_served(bool atEnd)
    {
        RawUpstream upstream = await StartAsync(limits: Scarce);
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.PostChunked());
        await OnReactorAsync(() => WithoutMemory(() =>
        {
            if (atEnd)
            {
                session.Exchange.EndBody(default);
            }
            else
            {
                session.Exchange.WriteBody("bytes"u8);
            }
        }));
        await session.EndedAsync();
        Assert.Equal((UpstreamPhase.Failed, 503), (session.Phase, session.Failure.Status));
        await wire.AssertEndsAsync();
        await AssertServesAsync(upstream);
    }

    private async Task AssertServesAsync(RawUpstream upstream)
    {
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal(("ok", UpstreamPhase.Complete), (session.Body, session.Phase));
    }

    private void WithoutMemory(Action action)
    {
        var taken = new List<Block>();
        try
        {
            while (true)
            {
                taken.Add(Reactor.Pools.Rent(BlockPools.SmallBytes));
            }
        }
        catch (InsufficientMemoryException)
        {
            // That was all.
        }

        try
        {
            action();
        }
        finally
        {
            taken.ForEach(Reactor.Pools.Return);
        }
    }
}
