using System.Diagnostics;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Tests.Upstreams;

/// <summary>Which connections are kept, which are closed, and who waits for one.</summary>
public class PoolTests : UpstreamFixture
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", false)]
    [InlineData("HTTP/1.1 200 OK\r\nConnection: a, CLOSE\r\nContent-Length: 2\r\n\r\nok", false)]
    [InlineData("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false)]
    [InlineData("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", true)]
    [InlineData("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", true)]
    public async Task A_connection_is_kept_if_the_upstream_keeps_it(string response, bool isKept)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync(response);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
        Assert.Equal(isKept ? 1 : 0, Counters.Idle);
        if (!isKept)
        {
            await wire.AssertEndsAsync();
        }
    }

    [Fact]
    public async Task The_connection_that_was_used_last_is_used_first()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession one, UpstreamWire first) = await BeginAsync(upstream);
        (TestSession two, UpstreamWire second) = await BeginAsync(upstream);
        await first.SendAsync(Ok);
        await one.EndedAsync();
        await second.SendAsync(Ok);
        await two.EndedAsync();
        Assert.Equal(2, Counters.Idle);
        TestSession third = await BeginAsync(TestRequest.Get("/3"));
        Assert.StartsWith("GET /3 ", await second.ReadHeadAsync());
        await second.SendAsync(Ok);
        await third.EndedAsync();
    }

    [Theory]
    [InlineData("end")]
    [InlineData("reset")]
    [InlineData("byte")]
    public async Task An_idle_connection_leaves_the_pool_with_its_end_or_with_any_byte(string what)
    {
        RawUpstream upstream = await StartAsync();
        UpstreamWire wire = await WarmUpAsync(upstream);
        switch (what)
        {
            case "end":
                wire.FinishSending();
                await wire.AssertEndsAsync();
                break;
            case "reset":
                wire.Reset();
                break;
            default:
                await wire.SendAsync("H");
                await wire.AssertEndsAsync();
                break;
        }

        await UntilAsync(() => Counters.Connections == 0);
        (TestSession session, UpstreamWire next) = await BeginAsync(upstream);
        await next.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal((UpstreamPhase.Complete, 0L), (session.Phase, Counters.Retried));
    }

    // Sleeps: an idle time has to pass.
    [Fact]
    public async Task An_idle_connection_is_closed_after_a_time()
    {
        RawUpstream upstream = await StartAsync(new UpstreamOptions { IdleFor = TimeSpan.FromMilliseconds(100) });
        UpstreamWire wire = await WarmUpAsync(upstream);
        await wire.AssertEndsAsync();
        await UntilAsync(() => Counters.Connections == 0);
    }

    // Sleeps: an idle time has to pass.
    [Theory]
    [Trait("Duration", "Full")]
    [InlineData("Keep-Alive: timeout=2", 1)]
    [InlineData("keep-alive: max=100, Timeout=2", 1)]
    [InlineData("Keep-Alive: timeout=1", 0)]
    [InlineData("Keep-Alive: timeout=0", 0)]
    public async Task A_connection_is_closed_before_the_upstream_closes_it(string field, int idle)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{field}\r\n\r\nok");
        await session.EndedAsync();
        Assert.Equal(idle, Counters.Idle);
        long startedAt = Stopwatch.GetTimestamp();
        await wire.AssertEndsAsync();
        Assert.InRange(Stopwatch.GetElapsedTime(startedAt), TimeSpan.Zero, TimeSpan.FromSeconds(20));
    }

    [Fact]
    public async Task The_oldest_idle_connection_makes_room()
    {
        RawUpstream upstream = await StartAsync(new UpstreamOptions { IdleConnectionsMax = 1 });
        (TestSession one, UpstreamWire first) = await BeginAsync(upstream);
        (TestSession two, UpstreamWire second) = await BeginAsync(upstream);
        await first.SendAsync(Ok);
        await one.EndedAsync();
        await second.SendAsync(Ok);
        await two.EndedAsync();
        await first.AssertEndsAsync();
        Assert.Equal(1, Counters.Idle);
    }

    [Fact]
    public async Task Beyond_the_limit_exchanges_wait_for_a_connection_in_order()
    {
        RawUpstream upstream = await StartAsync(new UpstreamOptions { ConnectionsMax = 1 });
        (TestSession one, UpstreamWire wire) = await BeginAsync(upstream);
        TestSession two = await BeginAsync(TestRequest.Get("/2"));
        TestSession three = await BeginAsync(TestRequest.Get("/3"));
        Assert.Equal(2, Counters.Waiting);
        await wire.SendAsync(Ok);
        await one.EndedAsync();
        Assert.StartsWith("GET /2 ", await wire.ReadHeadAsync());
        await wire.SendAsync("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
        await two.EndedAsync();
        UpstreamWire next = await upstream.AcceptAsync();
        Assert.StartsWith("GET /3 ", await next.ReadHeadAsync());
        await next.SendAsync(Ok);
        await three.EndedAsync();
        Assert.Equal("ok", three.Body);
    }

    [Fact]
    public async Task A_full_queue_is_a_503()
    {
        RawUpstream upstream = await StartAsync(new UpstreamOptions { ConnectionsMax = 1, QueueMax = 1 });
        (TestSession one, UpstreamWire wire) = await BeginAsync(upstream);
        TestSession two = await BeginAsync();
        TestSession three = await BeginAsync();
        await three.EndedAsync();
        Assert.Equal((503, 1L), (three.Failure.Status, Counters.QueueRefused));
        await two.ReleaseAsync();
        Assert.Equal(0, Counters.Waiting);
        await wire.SendAsync(Ok);
        await one.EndedAsync();
    }

    // Sleeps: a deadline has to pass.
    [Fact]
    public async Task Waiting_for_too_long_is_a_503()
    {
        RawUpstream upstream = await StartAsync(
            new UpstreamOptions { ConnectionsMax = 1, QueueTimeout = TimeSpan.FromMilliseconds(100) });
        (TestSession one, UpstreamWire wire) = await BeginAsync(upstream);
        TestSession two = await BeginAsync();
        await two.EndedAsync();
        Assert.Equal((503, 0), (two.Failure.Status, Counters.Waiting));
        await wire.SendAsync(Ok);
        await one.EndedAsync();
        Assert.Equal("ok", one.Body);
    }

    [Fact]
    public async Task An_exchange_that_is_released_early_closes_its_connection()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
        await session.BodyAsync("hel");
        await session.ReleaseAsync();
        await wire.AssertEndsAsync();
        Assert.Equal((0, 0L), (Counters.Connections, Counters.Failed));
    }

    [Fact]
    public async Task A_connection_whose_exchange_was_released_before_it_came_serves_the_next()
    {
        RawUpstream upstream = await StartAsync();
        await OnReactorAsync(() =>
        {
            var session = new TestSession(Reactor);
            session.Begin(Pool, TestRequest.Get());
            session.Exchange.Release();
        });
        UpstreamWire wire = await upstream.AcceptAsync();
        await UntilAsync(() => Counters.Idle == 1);
        TestSession next = await BeginAsync(TestRequest.Get("/next"));
        Assert.StartsWith("GET /next ", await wire.ReadHeadAsync());
        await wire.SendAsync(Ok);
        await next.EndedAsync();
    }

    [Fact]
    public async Task A_response_before_the_end_of_the_request_closes_the_connection()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Post(10));
        await session.WriteAsync("hello");
        await wire.SendAsync("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
        await session.EndedAsync();
        Assert.Equal((UpstreamPhase.Complete, "no"), (session.Phase, session.Body));
        Assert.Equal("hello", await wire.ReadAsync(5));
        await wire.AssertEndsAsync();
    }

    /// <summary>The upstream would take the next request on the connection for the rest of the body.</summary>
    [Fact]
    public async Task A_body_shorter_than_its_length_closes_the_connection()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Post(10));
        await session.WriteAsync("hello", ends: true);
        Assert.Equal("hello", await wire.ReadAsync(5));
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        await wire.AssertEndsAsync();
    }

    /// <summary>The upstream would take the surplus for a request.</summary>
    [Fact]
    public async Task A_body_longer_than_its_length_is_not_written()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Post(5));
        await session.WriteAsync("hello GET / HTTP/1.1");
        await session.EndedAsync();
        Assert.Equal((UpstreamPhase.Failed, 502), (session.Phase, session.Failure.Status));
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task A_response_may_begin_before_the_end_of_the_request_and_go_on_with_it()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.PostChunked());
        await wire.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        await session.HeadAsync();
        for (int i = 0; i < 3; i++)
        {
            await session.WriteAsync("ping");
            Assert.Equal("4\r\nping\r\n", await wire.ReadAsync(9));
            await wire.SendAsync("4\r\npong\r\n");
            await session.BodyAsync(string.Concat(Enumerable.Repeat("pong", i + 1)));
        }

        await session.WriteAsync("", ends: true);
        Assert.Equal("0\r\n\r\n", await wire.ReadAsync(5));
        await wire.SendAsync("0\r\n\r\n");
        await session.EndedAsync();
        Assert.Equal(1, Counters.Idle);
    }

    [Fact]
    public async Task Informational_responses_come_before_the_final_one()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Post(2));
        await wire.SendAsync("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
        await session.WhenAsync(() => session.Heads.Count == 2);
        await session.WriteAsync("hi", ends: true);
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal(
            ["HTTP/1.1 100 Continue\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"],
            session.Heads);
        Assert.Equal(1, Counters.Idle);
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\n\r\n")]
    public async Task The_response_to_head_has_no_body(string response)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Head());
        await wire.SendAsync(response);
        await session.EndedAsync();
        Assert.Equal((UpstreamPhase.Complete, ""), (session.Phase, session.Body));
        Assert.Equal(1, Counters.Idle);
    }

    [Fact]
    public async Task Trailers_come_with_the_end()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendSlowlyAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n");
        await session.EndedAsync();
        Assert.Equal(("hello", "A: b\r\nC: d\r\n"), (session.Body, session.Trailers));
        (session, _) = (await BeginAsync(), wire);
        await wire.ReadHeadAsync();
        await wire.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
        await session.EndedAsync();
        Assert.Equal("", session.Trailers);
    }

    [Fact]
    public async Task A_unix_socket_is_an_upstream_as_well()
    {
        string path = Path.Combine(Path.GetTempPath(), $"upstream-{Guid.NewGuid():N}.sock");
        RawUpstream upstream = NewUpstream(path);
        await StartAsync([upstream.Target]);
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
        File.Delete(path);
    }
}
