using System.Diagnostics;
using Millrace.Engine;
using Millrace.Engine.Buffers;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles.Rules;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Upstreams.Kit;

/// <summary>A reactor with pools, and raw upstreams. After a test everything is given back, and no warning was logged.</summary>
public abstract class UpstreamFixture : IAsyncLifetime
{
    private readonly List<RawUpstream> _upstreams = [];
    private readonly ServerLog _log = new();
    private UpstreamGroups? _groups;
    private ReactorGroup? _engine;

    private protected ReactorUpstreams Upstreams { get; private set; } = null!;

    private protected Reactor Reactor => _engine!.Reactors[0];

    private protected UpstreamPool Pool { get; private set; } = null!;

    /// <summary>Of all upstreams together.</summary>
    private protected UpstreamCounters Counters
    {
        get
        {
            var total = new UpstreamCounters("");
            foreach (UpstreamCounters counters in _groups!.Counters.All)
            {
                total.Add(counters);
            }

            return total;
        }
    }

    public ValueTask InitializeAsync() => default;

    public async ValueTask DisposeAsync()
    {
        _upstreams.ForEach(static upstream => upstream.Dispose());
        _groups?.Dispose();
        if (_engine is not null)
        {
            await _engine.StopAsync(TimeSpan.FromSeconds(5));
            await _engine.DisposeAsync();
            foreach (Reactor reactor in _engine.Reactors)
            {
                Assert.Equal(0, reactor.Connections.Count);
                Assert.Equal(0, reactor.Pools.Lent);
                Assert.Equal((0L, 0), (reactor.Accounts.StateBytes, reactor.Accounts.Clients));
            }

            Assert.Equal((0, 0, 0), (Counters.Connections, Counters.Idle, Counters.Waiting));
        }

        Assert.Empty(_log.Warnings);
        Assert.Empty(BlockLeakDetector.Reports);
        GC.SuppressFinalize(this);
    }

    private protected RawUpstream NewUpstream(string? socketPath = null)
    {
        var upstream = RawUpstream.Start(socketPath);
        _upstreams.Add(upstream);
        return upstream;
    }

    private protected async Task StartAsync(
        string[] targets, UpstreamOptions? options = null, ResolveName? resolve = null, Limits? limits = null)
    {
        _engine = await ReactorGroup.StartAsync(
            (new EngineOptions { Reactors = 1, Limits = limits ?? new Limits() }).ForRun() with { LoggerFactory = _log });
        var rule = new ProxyRule("/*", targets);
        _groups = new UpstreamGroups([rule], options ?? new UpstreamOptions(), 1, resolve: resolve);
        await Reactor.PostAsync(() =>
        {
            Upstreams = new ReactorUpstreams(Reactor, _groups);
            Pool = Upstreams.PoolFor(rule);
        });
    }

    /// <summary>One upstream, and the pool for it.</summary>
    private protected async Task<RawUpstream> StartAsync(UpstreamOptions? options = null, Limits? limits = null)
    {
        RawUpstream upstream = NewUpstream();
        await StartAsync([upstream.Target], options, limits: limits);
        return upstream;
    }

    private protected async Task<TestSession> BeginAsync(TestRequest? request = null, Action<TestSession>? set = null)
    {
        var session = new TestSession(Reactor);
        set?.Invoke(session);
        await session.BeginAsync(Pool, request ?? TestRequest.Get());
        return session;
    }

    /// <summary>Begins an exchange and accepts its connection and request.</summary>
    private protected async Task<(TestSession Session, UpstreamWire Wire)> BeginAsync(
        RawUpstream upstream, TestRequest? request = null, Action<TestSession>? set = null)
    {
        TestSession session = await BeginAsync(request, set);
        UpstreamWire wire = await upstream.AcceptAsync();
        await wire.ReadHeadAsync();
        return (session, wire);
    }

    /// <summary>Does a whole exchange, so that its connection is idle in the pool.</summary>
    private protected async Task<UpstreamWire> WarmUpAsync(RawUpstream upstream)
    {
        (TestSession session, UpstreamWire wire) = await BeginAsync(upstream);
        await wire.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        await session.EndedAsync();
        Assert.Equal(1, Counters.Idle);
        return wire;
    }

    /// <summary>Waits for what no event of a session shows.</summary>
    private protected async Task UntilAsync(Func<bool> isMet)
    {
        long startedAt = Stopwatch.GetTimestamp();
        bool met = false;
        while (!met)
        {
            await Reactor.PostAsync(() => met = isMet());
            Assert.True(met || Stopwatch.GetElapsedTime(startedAt) < TimeSpan.FromSeconds(60));
            await Task.Delay(met ? 0 : 5);
        }
    }

    private protected Task StopAsync(TimeSpan? drain = null) => _engine!.StopAsync(drain ?? TimeSpan.FromSeconds(30));

    /// <summary>Other rules, as after a reload.</summary>
    private protected async Task ReplaceAsync(params ProxyRule[] rules)
    {
        UpstreamGroups before = _groups!;
        _groups = new UpstreamGroups(rules, new UpstreamOptions(), 1, before);
        await Reactor.PostAsync(() => Upstreams.Replace(_groups));
        before.DisposeExcept(_groups);
    }

    /// <summary>What was done with an upstream since the start.</summary>
    private protected UpstreamStatus StatusOf(RawUpstream upstream) =>
        UpstreamStatus.All(_groups!, Reactor.NowMs).Single(one => one.Upstream == UpstreamTarget.Parse(upstream.Target).Text);

    private protected Task OnReactorAsync(Action action) => Reactor.PostAsync(action);
}
