using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Tests.Upstreams;

/// <summary>When a request is sent again, and where.</summary>
public class RetryTests : UpstreamFixture
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    [Theory]
    [InlineData("GET", false)]
    [InlineData("HEAD", false)]
    [InlineData("PUT", false)]
    [InlineData("DELETE", false)]
    [InlineData("OPTIONS", true)]
    [InlineData("GET", true)]
    public async Task A_reused_connection_that_ends_is_replaced_once(string method, bool isReset)
    {
        RawUpstream upstream = await StartAsync();
        UpstreamWire wire = await WarmUpAsync(upstream);
        TestSession session = await BeginAsync(new TestRequest($"{method} /again HTTP/1.1\r\n", "A: b\r\n"));
        await wire.ReadHeadAsync();
        End(wire, isReset);
        UpstreamWire second = await upstream.AcceptAsync();
        Assert.Equal($"{method} /again HTTP/1.1\r\nHost: a\r\nA: b\r\n\r\n", await second.ReadHeadAsync());
        await second.SendAsync("HTTP/1.1 204 No Content\r\n\r\n");
        await session.EndedAsync();
        Assert.Equal((UpstreamPhase.Complete, 1L), (session.Phase, Counters.Retried));
    }

    [Fact]
    public async Task It_is_not_sent_a_third_time()
    {
        RawUpstream upstream = await StartAsync();
        UpstreamWire wire = await WarmUpAsync(upstream);
        TestSession session = await BeginAsync();
        await wire.ReadHeadAsync();
        wire.FinishSending();
        UpstreamWire second = await upstream.AcceptAsync();
        await second.ReadHeadAsync();
        second.FinishSending();
        await session.EndedAsync();
        Assert.Equal((502, 1L), (session.Failure.Status, Counters.Retried));
        Assert.False(upstream.HasPending);
    }

    [Theory]
    [InlineData("POST / HTTP/1.1\r\n", "", "a method that is not idempotent")]
    [InlineData("PATCH / HTTP/1.1\r\n", "", "another one")]
    [InlineData("BREW / HTTP/1.1\r\n", "", "an unknown method")]
    [InlineData("GET / HTTP/1.1\r\n", "H", "a byte of the response")]
    [InlineData("GET / HTTP/1.1\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n", "an informational response")]
    public async Task It_is_not_sent_again_after(string line, string response, string what)
    {
        RawUpstream upstream = await StartAsync();
        UpstreamWire wire = await WarmUpAsync(upstream);
        TestSession session = await BeginAsync(new TestRequest(line));
        await wire.ReadHeadAsync();
        await wire.SendAsync(response);
        wire.FinishSending();
        await session.EndedAsync();
        Assert.True(session.Failure.Status == 502 && Counters.Retried == 0, what);
        Assert.False(upstream.HasPending);
    }

    [Fact]
    public async Task It_is_not_sent_again_once_a_part_of_its_body_was_written()
    {
        RawUpstream upstream = await StartAsync();
        UpstreamWire wire = await WarmUpAsync(upstream);
        TestSession session = await BeginAsync(TestRequest.Post(4) with { Line = "PUT / HTTP/1.1\r\n" });
        await session.WriteAsync("ab");
        Assert.EndsWith("\r\n\r\n", await wire.ReadHeadAsync());
        await wire.ReadAsync(2);
        wire.FinishSending();
        await session.EndedAsync();
        Assert.Equal((502, 0L), (session.Failure.Status, Counters.Retried));
    }

    [Fact]
    public async Task A_new_connection_that_ends_is_not_replaced()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        wire.FinishSending();
        await session.EndedAsync();
        Assert.Equal((502, 0L), (session.Failure.Status, Counters.Retried));
    }

    [Fact]
    public async Task A_refused_connect_is_a_502()
    {
        await StartAsync([RawUpstream.RefusingTarget()]);
        TestSession session = await BeginAsync();
        await session.EndedAsync();
        Assert.Equal((502, 1L, 0), (session.Failure.Status, Counters.ConnectsFailed, Counters.Connections));
        Assert.Contains("nothing listens there", session.Failure.Reason, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_only_upstream_is_tried_for_each_request()
    {
        RawUpstream upstream = await StartAsync();
        upstream.StopListening();
        for (int i = 0; i < 3; i++)
        {
            TestSession refused = await BeginAsync();
            await refused.EndedAsync();
            Assert.Equal(502, refused.Failure.Status);
        }

        upstream.ListenAgain();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\n")]
    [InlineData("POST / HTTP/1.1\r\n")]
    public async Task Another_upstream_serves_what_could_not_be_sent_and_the_first_is_avoided(string line)
    {
        RawUpstream upstream = NewUpstream();
        await StartAsync([RawUpstream.RefusingTarget(), upstream.Target]);
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, new TestRequest(line));
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
        for (int i = 0; i < 4; i++)
        {
            TestSession next = await BeginAsync();
            await wire.ReadHeadAsync();
            await wire.SendAsync(Ok);
            await next.EndedAsync();
        }

        Assert.Equal((1L, 2L), (Counters.ConnectsFailed, Counters.Connects));
    }

    [Fact]
    public async Task All_upstreams_down_is_a_503_and_each_request_tries_them()
    {
        RawUpstream second = NewUpstream();
        await StartAsync([RawUpstream.RefusingTarget(), second.Target]);
        second.StopListening();
        for (int i = 0; i < 2; i++)
        {
            TestSession refused = await BeginAsync();
            await refused.EndedAsync();
            Assert.Equal(503, refused.Failure.Status);
        }

        second.ListenAgain();
        (TestSession session, UpstreamWire wire) = await BeginAsync(second);
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
    }

    // Sleeps: the time has to pass for which an upstream is avoided.
    [Fact]
    public async Task An_upstream_that_was_down_is_tried_again_after_a_time()
    {
        RawUpstream first = NewUpstream();
        RawUpstream second = NewUpstream();
        await StartAsync([first.Target, second.Target], new UpstreamOptions { FailTimeout = TimeSpan.FromMilliseconds(300) });
        first.StopListening();
        (TestSession session, UpstreamWire wire) = await BeginAsync(second);
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        first.ListenAgain();
        // Sleeps: the address is avoided until this time is over.
        await Task.Delay(400);
        TestSession[] both = [await BeginAsync(), await BeginAsync()];
        UpstreamWire again = await first.AcceptAsync();
        await wire.ReadHeadAsync();
        await again.ReadHeadAsync();
        await wire.SendAsync(Ok);
        await again.SendAsync(Ok);
        await Task.WhenAll(both.Select(static one => one.EndedAsync()));
    }

    [Fact]
    public async Task Upstreams_take_turns()
    {
        RawUpstream first = NewUpstream();
        RawUpstream second = NewUpstream();
        await StartAsync([first.Target, second.Target]);
        TestSession[] sessions = [await BeginAsync(), await BeginAsync(), await BeginAsync(), await BeginAsync()];
        foreach (RawUpstream upstream in new[] { first, second, first, second })
        {
            UpstreamWire wire = await upstream.AcceptAsync();
            await wire.ReadHeadAsync();
            await wire.SendAsync(Ok);
        }

        await Task.WhenAll(sessions.Select(static session => session.EndedAsync()));
        Assert.All(sessions, static session => Assert.Equal("ok", session.Body));
    }

    private static void End(UpstreamWire wire, bool isReset)
    {
        if (isReset)
        {
            wire.Reset();
        }
        else
        {
            wire.FinishSending();
        }
    }
}
