using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Tests.Upstreams;

/// <summary>After 101: bytes go both ways until both directions have ended.</summary>
public class TunnelTests : UpstreamFixture
{
    private const string Switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

    [Fact]
    public async Task Bytes_go_both_ways_those_right_behind_the_head_too()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Upgrade());
        await wire.SendAsync(Switching + "first");
        await session.BodyAsync("first");
        await session.WriteAsync("from the client");
        Assert.Equal("from the client", await wire.ReadAsync(15));
        await wire.SendSlowlyAsync(" and more");
        await session.BodyAsync("first and more");
        Assert.Equal(UpstreamPhase.Tunnel, session.Phase);
        await session.ReleaseAsync();
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task The_clients_end_reaches_the_upstream_which_may_go_on()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Upgrade());
        await wire.SendAsync(Switching);
        await session.HeadAsync();
        Task<string> received = wire.ReadToEndAsync();
        await session.WriteAsync(new string('x', 500_000), ends: true);
        Assert.Equal(500_000, (await received).Length);
        await wire.SendAsync("late");
        await session.BodyAsync("late");
        wire.FinishSending();
        await session.EndedAsync();
        Assert.Equal(UpstreamPhase.Complete, session.Phase);
        Assert.Equal(0, Counters.Idle);
    }

    [Fact]
    public async Task The_upstreams_end_reaches_the_client_which_may_go_on()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Upgrade());
        await wire.SendAsync(Switching + "bye");
        wire.FinishSending();
        await session.WhenAsync(() => session is { Body: "bye", State: BodyStreamState.Complete });
        Assert.Equal(UpstreamPhase.Tunnel, session.Phase);
        await session.WriteAsync("still here", ends: true);
        Assert.Equal("still here", await wire.ReadToEndAsync());
        await session.EndedAsync();
        Assert.Equal(UpstreamPhase.Complete, session.Phase);
    }

    [Fact]
    public async Task A_reset_ends_both_ways()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Upgrade());
        await wire.SendAsync(Switching);
        await session.HeadAsync();
        wire.Reset();
        await session.EndedAsync();
        Assert.Equal(UpstreamPhase.Failed, session.Phase);
    }

    // Sleeps: a deadline has to pass.
    [Fact]
    [Trait("Duration", "Full")]
    public async Task An_idle_tunnel_ends_after_its_own_time()
    {
        RawUpstream upstream = await StartAsync(new UpstreamOptions
        {
            FirstByteTimeout = TimeSpan.FromMilliseconds(100),
            IdleTimeout = TimeSpan.FromMilliseconds(100),
            TunnelIdleTimeout = TimeSpan.FromMilliseconds(700),
        });
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Upgrade());
        await wire.SendAsync(Switching);
        await session.HeadAsync();
        // Sleeps: longer than the deadline of an ordinary response.
        await Task.Delay(400);
        await session.WriteAsync("ping");
        // Sleeps: longer than that deadline once more.
        await Task.Delay(400);
        Assert.Equal(UpstreamPhase.Tunnel, session.Phase);
        await session.EndedAsync();
        Assert.Equal(504, session.Failure.Status);
    }

    /// <summary>A client that has gone without a word would keep both connections for good.</summary>
    [Fact]
    public async Task An_idle_tunnel_whose_upstream_has_ended_its_direction_ends_after_that_time_too()
    {
        RawUpstream upstream = await StartAsync(new UpstreamOptions { TunnelIdleTimeout = TimeSpan.FromMilliseconds(300) });
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Upgrade());
        await wire.SendAsync($"{Switching}bye");
        wire.FinishSending();
        await session.BodyAsync("bye");
        await session.EndedAsync();
        Assert.Equal((504, 1), (session.Failure.Status, Counters.TimedOut));
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task An_upgrade_that_the_upstream_declines_is_an_ordinary_response()
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, TestRequest.Upgrade());
        await wire.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno");
        await session.EndedAsync();
        Assert.Equal("no", session.Body);
        Assert.Equal(1, Counters.Idle);
    }
}
