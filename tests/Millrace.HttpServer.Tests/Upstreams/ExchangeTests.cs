using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Tests.Upstreams;

/// <summary>Whole exchanges: requests as the upstream gets them, responses as the session does.</summary>
public class ExchangeTests : UpstreamFixture
{
    [Fact]
    public async Task A_request_is_sent_as_it_is_and_its_response_comes_back()
    {
        RawUpstream upstream = await StartAsync();
        TestSession session = await BeginAsync(new TestRequest("GET /x?y HTTP/1.1\r\n", "Accept: */*\r\n") { Host = "site.test" });
        UpstreamWire wire = await upstream.AcceptAsync();
        Assert.Equal("GET /x?y HTTP/1.1\r\nHost: site.test\r\nAccept: */*\r\n\r\n", await wire.ReadHeadAsync());
        await wire.SendAsync("HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nA: b\r\n\r\nhello");
        await session.EndedAsync();
        Assert.Equal("HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nA: b\r\n", Assert.Single(session.Heads));
        Assert.Equal("hello", session.Body);
        Assert.Equal(UpstreamPhase.Complete, session.Phase);
        Assert.Equal(1, Counters.Idle);
    }

    [Fact]
    public async Task The_upstream_is_its_own_host_where_the_request_has_none()
    {
        RawUpstream upstream = await StartAsync();
        TestSession session = await BeginAsync(TestRequest.Get() with { Host = "" });
        UpstreamWire wire = await upstream.AcceptAsync();
        Assert.Equal($"GET / HTTP/1.1\r\nHost: {upstream.EndPoint}\r\n\r\n", await wire.ReadHeadAsync());
        await wire.SendAsync("HTTP/1.1 204 No Content\r\n\r\n");
        await session.EndedAsync();
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n")]
    public async Task The_next_request_uses_the_same_connection(string response)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession first, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendSlowlyAsync(response);
        await first.EndedAsync();
        Assert.Equal("hello", first.Body);
        TestSession second = await BeginAsync(TestRequest.Get("/2"));
        Assert.StartsWith("GET /2 ", await wire.ReadHeadAsync());
        await wire.SendAsync(response);
        await second.EndedAsync();
        Assert.Equal("hello", second.Body);
        Assert.Equal((1L, 1L), (Counters.Connects, Counters.Reused));
    }

    [Fact]
    public async Task A_response_without_a_length_ends_with_its_connection()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync("HTTP/1.1 200 OK\r\n\r\nhello");
        await session.BodyAsync("hello");
        wire.FinishSending();
        await session.EndedAsync();
        Assert.Equal(UpstreamPhase.Complete, session.Phase);
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task A_request_body_with_a_length_is_sent_as_it_comes()
    {
        RawUpstream upstream = await StartAsync();
        TestSession session = await BeginAsync(TestRequest.Post(10));
        UpstreamWire wire = await upstream.AcceptAsync();
        Assert.EndsWith("Content-Length: 10\r\n\r\n", await wire.ReadHeadAsync());
        await session.WriteAsync("hello");
        Assert.Equal("hello", await wire.ReadAsync(5));
        await session.WriteAsync("world", ends: true);
        Assert.Equal("world", await wire.ReadAsync(5));
        await wire.SendAsync("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
        await session.EndedAsync();
        Assert.Equal(UpstreamPhase.Complete, session.Phase);
        Assert.Equal(1, Counters.Idle);
    }

    [Fact]
    public async Task A_chunked_request_body_is_sent_in_chunks_with_its_trailers()
    {
        RawUpstream upstream = await StartAsync();
        TestSession session = await BeginAsync(TestRequest.PostChunked());
        UpstreamWire wire = await upstream.AcceptAsync();
        await wire.ReadHeadAsync();
        await session.WriteAsync("hello");
        Assert.Equal("5\r\nhello\r\n", await wire.ReadAsync(10));
        await session.WriteAsync(new string('x', 20), ends: true, trailers: "A: b\r\n");
        Assert.Equal($"14\r\n{new string('x', 20)}\r\n0\r\nA: b\r\n\r\n", await wire.ReadAsync(26 + 11));
        await wire.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        await session.EndedAsync();
        Assert.Equal(UpstreamPhase.Complete, session.Phase);
    }
}
