using System.Diagnostics;
using System.Net.Sockets;
using System.Net;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.HttpServer.Clients;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.RateLimiting;
using Millrace.HttpServer.Tests.Http3.Kit;
using Millrace.HttpServer.Upstreams;
using Millrace.Quic.Connections;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>A folder served in this process. Started and ended by <see cref="SiteFixture"/>, which looks for leaks after it.</summary>
internal sealed class RunningSite
{
    private readonly Site _site;
    private readonly StaticSiteServer _sites;
    private readonly ServerLog _log;
    private readonly UpstreamGroups _upstreams;
    private readonly List<Wire> _wires = [];
    private readonly List<Http3Endpoint> _http3 = [];

    private RunningSite(
        Site site, StaticSiteServer sites, ReactorGroup group, UpstreamGroups upstreams, ServerLog log, EndPoint endPoint)
    {
        _upstreams = upstreams;
        _site = site;
        _sites = sites;
        _log = log;
        EndPoint = endPoint;
        Group = group;
    }

    public ReactorGroup Group { get; }

    public EndPoint EndPoint { get; }

    public AssetCatalog Catalog => _site.Catalog;

    public SiteArchives Archives => _site.Archives!;

    public static async Task<RunningSite> StartAsync(
        SiteOptions options,
        HttpServerLimits limits,
        EngineOptions engine,
        Func<Reactor, Action<HttpExchange>>? observe,
        Func<IClientConnection, bool>? carriesHttps = null,
        Func<string, ValueTask<ReadOnlyMemory<byte>>>? challenges = null,
        ClientFinder? clients = null,
        UpstreamOptions? upstreamOptions = null,
        AssetFiles? files = null)
    {
        var log = new ServerLog();
        Site opened = Site.Open(options, log);
        await opened.Catalog.SettleAsync();
        ReactorGroup group = await ReactorGroup.StartAsync(engine.ForRun() with { LoggerFactory = log });
        var upstreams = new UpstreamGroups(options.UpstreamRules, upstreamOptions ?? new UpstreamOptions(), group.Reactors.Count);
        var sites = new StaticSiteServer(
            new HostTable([(null, opened)]), limits, group, observe, carriesHttps, challenges, clients,
            new RateLimiter(logging: log), upstreams, files);
        Listener listener = await group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 0), sites.ServeAsync, sites.RefuseAsync);
        return new RunningSite(opened, sites, group, upstreams, log, listener.EndPoint);
    }

    /// <summary>A client's connection; it is closed at the end of the test.</summary>
    public Task<Wire> ConnectAsync(int receiveBufferBytes = 0) => ConnectAsync(EndPoint, receiveBufferBytes);

    /// <summary>The same from another address of this machine.</summary>
    public Task<Wire> ConnectFromAsync(IPAddress from) => ConnectAsync(EndPoint, receiveBufferBytes: 0, from);

    /// <summary>A connection whose client has agreed on HTTP/2 with somebody before us.</summary>
    public async Task<Wire> ConnectAgreedAsync()
    {
        Listener listener = await Group.ListenAsync(
            new IPEndPoint(IPAddress.Loopback, 0), connection => _sites.ServeHttp2Async(connection), _sites.RefuseAsync);
        return await ConnectAsync(listener.EndPoint, receiveBufferBytes: 0);
    }

    /// <summary>Serves HTTP/3, too.</summary>
    /// <param name="isCovered">Whether the certificate covers a host; null: it covers all.</param>
    /// <param name="settings">Of the transport; null for the usual ones.</param>
    public async Task<Http3Endpoint> ListenHttp3Async(Func<string, bool>? isCovered = null, QuicSettings? settings = null)
    {
        Http3Endpoint endpoint = await Http3Endpoint.ListenAsync(Group, _sites, isCovered, settings ?? QuicSettings.Default, _log);
        _http3.Add(endpoint);
        return endpoint;
    }

    /// <summary>A connection whose client is sent to HTTPS, on its usual port.</summary>
    public async Task<Wire> ConnectPlainAsync()
    {
        Listener listener = await Group.ListenAsync(
            new IPEndPoint(IPAddress.Loopback, 0), connection => _sites.RedirectAsync(connection, 443), _sites.RefuseAsync);
        return await ConnectAsync(listener.EndPoint, receiveBufferBytes: 0);
    }

    /// <summary>A connection whose bytes pass a stage.</summary>
    /// <param name="receiveBufferBytes">Small, to make a peer that the server has to wait for.</param>
    /// <param name="failsFrom">The stage has no memory for so many bytes or more.</param>
    public async Task<Wire> ConnectStagedAsync(int receiveBufferBytes, long failsFrom = long.MaxValue)
    {
        Listener listener = await Group.ListenAsync(
            new IPEndPoint(IPAddress.Loopback, 0), _sites.ServeAsync, filters: _ => [new CopyFilter(failsFrom)]);
        return await ConnectAsync(listener.EndPoint, receiveBufferBytes);
    }

    /// <summary>Native memory that connections hold of the reactor that lends most.</summary>
    public async Task<long> LentBytesAsync()
    {
        long most = 0;
        foreach (Reactor reactor in Group.Reactors)
        {
            var response = new TaskCompletionSource<long>(TaskCreationOptions.RunContinuationsAsynchronously);
            reactor.Post(_ => response.SetResult(reactor.Pools.LentBytes), null);
            most = Math.Max(most, await response.Task.WaitAsync(TimeSpan.FromSeconds(60)));
        }

        return most;
    }

    private async Task<Wire> ConnectAsync(EndPoint endPoint, int receiveBufferBytes, IPAddress? from = null)
    {
        Wire wire = await Wire.ConnectAsync(endPoint, receiveBufferBytes, from);
        lock (_wires)
        {
            _wires.Add(wire);
        }

        return wire;
    }

    /// <summary>Whether a new connection is taken.</summary>
    public async Task<bool> AcceptsAsync()
    {
        using var socket = new Socket(EndPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            await socket.ConnectAsync(EndPoint);
            return true;
        }
        catch (SocketException refused) when (refused.SocketErrorCode == SocketError.ConnectionRefused)
        {
            return false;
        }
    }

    /// <summary>Connections open on all reactors.</summary>
    public async Task<int> ConnectionsAsync()
    {
        int count = 0;
        foreach (Reactor reactor in Group.Reactors)
        {
            var response = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
            reactor.Post(_ => response.SetResult(reactor.Connections.Count), null);
            count += await response.Task.WaitAsync(TimeSpan.FromSeconds(60));
        }

        return count;
    }

    /// <summary>Every connection has ended, or the test fails.</summary>
    public async Task EmptiedAsync()
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (await ConnectionsAsync() is not 0 and int left)
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < TimeSpan.FromSeconds(60), $"There are {left} connections left.");
            await Task.Delay(10);
        }
    }

    /// <summary>What the server complained of so far, which was expected: otherwise it fails the test.</summary>
    public string[] TakeWarnings()
    {
        string[] warnings = [.. _log.Warnings];
        _log.Warnings.Clear();
        return warnings;
    }

    /// <summary>Ends everything and asserts that everything was given back.</summary>
    public async Task EndAsync()
    {
        _wires.ForEach(static wire => wire.Dispose());
        _http3.ForEach(static endpoint => endpoint.DisposeClients());
        foreach (Http3Endpoint endpoint in _http3)
        {
            await endpoint.DisposeAsync();
        }

        await Group.StopAsync(TimeSpan.FromSeconds(5));
        await _sites.DisposeAsync();
        _upstreams.Dispose();
        _site.Dispose();
        CatalogSnapshot last = Catalog.Current;
        await last.Freed.WaitAsync(TimeSpan.FromSeconds(60));

        Assert.Equal(0, Catalog.InMemoryBytesHeld);
        Assert.Equal(0, Catalog.DescriptorsHeld);
        foreach (Reactor reactor in Group.Reactors)
        {
            Assert.Equal(0, reactor.Connections.Count);
            Assert.Equal(0, reactor.Pools.Lent);
            Assert.Equal((0L, 0), (reactor.Accounts.StateBytes, reactor.Accounts.Clients));
        }

        // Some tests name pages that come later.
        Assert.DoesNotContain(_log.Warnings, static line => !line.Contains(" has no page ", StringComparison.Ordinal));
    }
}
