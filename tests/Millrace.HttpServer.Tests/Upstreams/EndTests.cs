using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Tests.Upstreams;

/// <summary>What becomes of connections when the server stops, or gets other rules.</summary>
public class EndTests : UpstreamFixture
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    [Fact]
    public async Task Idle_connections_end_when_the_server_stops_and_exchanges_finish_before()
    {
        RawUpstream upstream = await StartAsync();
        UpstreamWire idle = await WarmUpAsync(upstream);
        TestSession one = await BeginAsync();
        await idle.ReadHeadAsync();
        (TestSession two, UpstreamWire busy) = await BeginAsync(upstream);
        await idle.SendAsync(Ok);
        await one.EndedAsync();
        Task stopping = StopAsync();
        await idle.AssertEndsAsync();
        Assert.False(stopping.IsCompleted);
        await busy.SendAsync(Ok);
        await two.EndedAsync();
        Assert.Equal("ok", two.Body);
        await busy.AssertEndsAsync();
        upstream.Dispose();
        await stopping;
    }

    [Fact]
    public async Task An_exchange_on_a_connection_that_was_idle_survives_the_stop()
    {
        RawUpstream upstream = await StartAsync();
        UpstreamWire wire = await WarmUpAsync(upstream);
        TestSession session = await BeginAsync();
        await wire.ReadHeadAsync();
        Task stopping = StopAsync();
        await UntilAsync(() => Reactor.IsDraining);
        await wire.SendSlowlyAsync(Ok);
        await session.EndedAsync();
        Assert.Equal("ok", session.Body);
        await wire.AssertEndsAsync();
        upstream.Dispose();
        await stopping;
    }

    [Fact]
    public async Task A_connection_whose_response_was_received_before_the_client_took_it_is_idle_at_the_stop()
    {
        RawUpstream upstream = await StartAsync(new UpstreamOptions { IdleFor = TimeSpan.FromMinutes(10) });
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, set: static session => session.TakesBytesMax = 0);
        await wire.SendAsync(Ok);
        await session.HeadAsync();
        await session.TakeAsync(long.MaxValue);
        await session.EndedAsync();

        Task stopping = StopAsync(TimeSpan.FromMinutes(10));

        await wire.AssertEndsAsync();
        upstream.Dispose();
        await stopping;
    }

    // Sleeps: the time has to pass that a stop gives to exchanges.
    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", 0)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", 200_000)]
    [InlineData("HTTP/1.1 200 O", 0)]
    [InlineData("", 0)]
    public async Task An_exchange_that_does_not_end_in_time_is_cut_by_the_stop(string head, int size)
    {
        RawUpstream upstream = await StartAsync();
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream, set: static session => session.TakesBytesMax = 0);
        Task sending = wire.SendAsync(head + new string('x', size));
        await UntilAsync(() => Reactor.Counters.BytesReceived >= Math.Min(head.Length + size, 100_000));
        await StopAsync(TimeSpan.FromMilliseconds(200));
        Assert.Equal(UpstreamPhase.Failed, session.Phase);
        await sending.ContinueWith(static _ => { }, TaskScheduler.Default);
    }

    [Fact]
    public async Task Other_rules_keep_the_pools_of_the_upstreams_that_stay()
    {
        RawUpstream first = NewUpstream();
        RawUpstream second = NewUpstream();
        await StartAsync([first.Target]);
        UpstreamWire wire = await WarmUpAsync(first);
        (TestSession busy, UpstreamWire used) = (await BeginAsync(), wire);
        await used.ReadHeadAsync();

        var sameAgain = new ProxyRule("/api/*", [first.Target]);
        var another = new ProxyRule("/*", [second.Target]);
        await ReplaceAsync(sameAgain, another);
        await OnReactorAsync(() =>
        {
            Assert.Same(Pool, Upstreams.PoolFor(sameAgain));
            Assert.NotSame(Pool, Upstreams.PoolFor(another));
        });
        await used.SendAsync(Ok);
        await busy.EndedAsync();
        Assert.Equal(1, Counters.Idle);

        busy = await BeginAsync();
        await used.ReadHeadAsync();
        await ReplaceAsync(another);
        await used.SendAsync(Ok);
        await busy.EndedAsync();
        Assert.Equal("ok", busy.Body);
        await used.AssertEndsAsync();
    }

    [Fact]
    public async Task Idle_connections_of_upstreams_that_are_gone_are_closed()
    {
        RawUpstream upstream = await StartAsync();
        UpstreamWire wire = await WarmUpAsync(upstream);
        await ReplaceAsync();
        await wire.AssertEndsAsync();
    }

    [Theory]
    [InlineData("http://a.test", "http://a.test", "a.test", 80)]
    [InlineData("HTTP://A.test:80/x/:splat", "http://a.test", "a.test", 80)]
    [InlineData("https://a.test", "https://a.test", "a.test", 443)]
    [InlineData("http://[::1]:8080/", "http://[::1]:8080", "[::1]:8080", 8080)]
    [InlineData("http://127.0.0.1:5000", "http://127.0.0.1:5000", "127.0.0.1:5000", 5000)]
    [InlineData("unix:/run/app.sock", "unix:/run/app.sock", "localhost", 0)]
    public void A_target_is_a_scheme_and_an_authority(string text, string same, string authority, int port)
    {
        UpstreamTarget target = UpstreamTarget.Parse(text);
        Assert.Equal((same, port), (target.Text, target.Port));
        Assert.Equal(authority, System.Text.Encoding.ASCII.GetString(target.Authority.Span));
    }

    [Theory]
    [InlineData("")]
    [InlineData("a.test:80")]
    [InlineData("ftp://a.test")]
    [InlineData("http://")]
    [InlineData("http://user@a.test")]
    [InlineData("http://a.test:99999")]
    [InlineData("http://a b")]
    [InlineData("unix:run/app.sock")]
    [InlineData("/run/app.sock")]
    public void What_is_no_target_is_refused(string text) =>
        Assert.Throws<SiteException>(() => UpstreamTarget.Parse(text));

    [Fact]
    public async Task What_was_counted_stays_when_other_rules_drop_an_upstream_and_when_it_comes_back()
    {
        RawUpstream first = NewUpstream();
        RawUpstream second = NewUpstream();
        await StartAsync([first.Target]);
        await WarmUpAsync(first);

        await ReplaceAsync(new ProxyRule("/*", [second.Target]));
        await UntilAsync(() => Counters.Connections == 0);
        UpstreamStatus dropped = StatusOf(first);
        Assert.Equal((1L, 1L, false, null), (dropped.Total.Requests, dropped.Total.Connects, dropped.IsInUse, dropped.IsHealthy));

        var back = new ProxyRule("/*", [first.Target]);
        await ReplaceAsync(back);
        UpstreamPool pool = null!;
        await OnReactorAsync(() => pool = Upstreams.PoolFor(back));
        var session = new TestSession(Reactor);
        await session.BeginAsync(pool, TestRequest.Get());
        UpstreamWire wire = await first.AcceptAsync();
        await wire.ReadHeadAsync();
        await wire.SendAsync(Ok);
        await session.EndedAsync();
        UpstreamStatus again = StatusOf(first);
        Assert.Equal((2L, 2L, true, (bool?)true), (again.Total.Requests, again.Total.Connects, again.IsInUse, again.IsHealthy));
        await ReplaceAsync();
    }
}
