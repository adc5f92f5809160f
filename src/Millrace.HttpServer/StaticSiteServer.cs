using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.HttpServer.Clients;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Http1;
using Millrace.HttpServer.Http2;
using Millrace.HttpServer.Http3;
using Millrace.HttpServer.RateLimiting;
using Millrace.HttpServer.Sessions;
using Millrace.HttpServer.Upstreams;
using Millrace.QuicTransport;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer;

/// <summary>
/// Serves sites over HTTP/1.1, HTTP/2 and HTTP/3: <see cref="ServeAsync(Connection)"/> is the connection handler. Each reactor gets its
/// own <see cref="SessionReactorState"/> on its first connection.
/// </summary>
internal sealed class StaticSiteServer : IAsyncDisposable
{
    private volatile HostTable _hosts;
    private readonly AssetFiles? _files;
    private readonly HttpServerLimits _limits;
    private readonly ReactorGroup _group;
    private readonly Func<Reactor, Action<HttpExchange>>? _observe;
    private readonly Func<IClientConnection, bool>? _carriesHttps;
    private readonly Func<string, ValueTask<ReadOnlyMemory<byte>>>? _challenges;
    private volatile UpstreamGroups _upstreams;
    private readonly ClientFinder _clients;
    private readonly RateLimiter _rateLimiter;
    private readonly SessionReactorState?[] _reactorStates;

    /// <param name="hosts">The sites.</param>
    /// <param name="limits">The limits of sessions.</param>
    /// <param name="group">The reactors whose connections are served.</param>
    /// <param name="observe">
    /// Creates a reactor's observer, once and on its thread; null if there is no observer, which then costs one check a request.
    /// </param>
    /// <param name="carriesHttps">
    /// Whether a connection may carry requests for https resources, called on its reactor; null if none may.
    /// </param>
    /// <param name="challenges">See <see cref="SessionReactorState.Challenges"/>.</param>
    /// <param name="clients">Finds the client's address of a request; null if no proxy in front is trusted.</param>
    /// <param name="rateLimiter">Counts the requests of sites with rate limits; null for one of the usual size.</param>
    /// <param name="upstreams">The upstreams of the sites' proxy rules; null for none. The caller disposes of them.</param>
    /// <param name="files">Opens the files of assets; null for the kernel's file system.</param>
    public StaticSiteServer(
        HostTable hosts,
        HttpServerLimits limits,
        ReactorGroup group,
        Func<Reactor, Action<HttpExchange>>? observe = null,
        Func<IClientConnection, bool>? carriesHttps = null,
        Func<string, ValueTask<ReadOnlyMemory<byte>>>? challenges = null,
        ClientFinder? clients = null,
        RateLimiter? rateLimiter = null,
        UpstreamGroups? upstreams = null,
        AssetFiles? files = null)
    {
        _files = files;
        _upstreams = upstreams ?? UpstreamGroups.None;
        _observe = observe;
        _carriesHttps = carriesHttps;
        _challenges = challenges;
        _clients = clients ?? ClientFinder.Direct;
        _rateLimiter = rateLimiter ?? new RateLimiter();
        _hosts = hosts;
        _limits = limits;
        _group = group;
        _reactorStates = new SessionReactorState?[group.Reactors.Count];
        foreach (Site site in hosts.Sites)
        {
            site.Catalog.Changed += AcquireEverywhere;
        }
    }

    /// <summary>Serves a connection in HTTP/2 from its first byte: for a client that negotiated it (ALPN "h2").</summary>
    /// <param name="connection">The connection.</param>
    /// <param name="isCovered">
    /// Whether the connection's certificate covers a host; requests for other hosts are answered with 421. Null if the connection is for
    /// all hosts.
    /// </param>
    /// <param name="alternative">What else clients may use, which responses say; null for nothing.</param>
    public Task ServeHttp2Async(
        Connection connection, Func<ReadOnlySpan<byte>, bool>? isCovered = null, AlternativeService? alternative = null) =>
        new Http2Session(connection, ReactorStateOf(connection.Reactor), isCovered, alternative).RunAsync();

    /// <summary>Serves a connection in HTTP/1.1, or in HTTP/2 if its client begins with the preface.</summary>
    /// <param name="connection">The connection.</param>
    /// <param name="isCovered">As for <see cref="ServeHttp2Async"/>.</param>
    /// <param name="alternative">As for <see cref="ServeHttp2Async"/>.</param>
    public Task ServeAsync(
        Connection connection, Func<ReadOnlySpan<byte>, bool>? isCovered, AlternativeService? alternative = null) =>
        new Http1Session(connection, ReactorStateOf(connection.Reactor)) { IsCovered = isCovered, Alternative = alternative }.RunAsync();

    public Task ServeAsync(Connection connection) => ServeAsync(connection, isCovered: null);

    /// <summary>Serves a QUIC connection in HTTP/3: its handler, on its reactor, when the handshake is complete.</summary>
    /// <param name="connection">The connection.</param>
    /// <param name="isCovered">As for <see cref="ServeHttp2Async"/>.</param>
    public QuicServerHandler CreateHttp3Handler(QuicServerConnection connection, Func<ReadOnlySpan<byte>, bool>? isCovered = null) =>
        new Http3Session(connection, ReactorStateOf(connection.Reactor), isCovered);

    /// <summary>Redirects a connection's client to HTTPS, on another port of this host.</summary>
    public Task RedirectAsync(Connection connection, int httpsPort) =>
        RedirectSession.RunAsync(connection, ReactorStateOf(connection.Reactor), httpsPort);

    /// <summary>Answers a connection beyond a limit with 503.</summary>
    public Task RefuseAsync(Connection connection) => RefusedSession.RunAsync(connection, ReactorStateOf(connection.Reactor));

    /// <summary>
    /// Replaces the sites, for open connections as well. Completes when no request can begin at the removed sites, which may then be
    /// disposed. Must not run concurrently with another call, nor while the group stops.
    /// </summary>
    public async Task ReplaceAsync(HostTable hosts, UpstreamGroups? upstreams = null)
    {
        upstreams ??= UpstreamGroups.None;
        HostTable before = _hosts;
        foreach (Site site in hosts.Sites.Except(before.Sites))
        {
            site.Catalog.Changed += AcquireEverywhere;
        }

        _hosts = hosts;
        _upstreams = upstreams;
        foreach (Reactor reactor in _group.Reactors)
        {
            await reactor.PostAsync(() => _reactorStates[reactor.Index]?.ReplaceHosts(hosts, upstreams)).ConfigureAwait(false);
        }

        foreach (Site site in before.Sites.Except(hosts.Sites))
        {
            site.Catalog.Changed -= AcquireEverywhere;
        }
    }

    /// <summary>What the sessions of a reactor share, for a handler that serves more than the sites, too. Called on its thread.</summary>
    public SessionReactorState ReactorStateOf(Reactor reactor)
    {
        // Each element belongs to one reactor; only the array itself is shared.
        ref SessionReactorState? reactorState = ref _reactorStates[reactor.Index];
        return reactorState ??= new SessionReactorState(reactor, _hosts, _limits, _files, _observe?.Invoke(reactor))
        {
            CarriesHttps = _carriesHttps,
            Challenges = _challenges,
            UpstreamGroups = _upstreams,
            Clients = _clients,
            RateLimiter = _rateLimiter,
        };
    }

    /// <summary>Stops the group, unless it is stopped already, and releases the snapshots, which its reactors no longer use.</summary>
    public async ValueTask DisposeAsync()
    {
        await _group.DisposeAsync().ConfigureAwait(false);
        foreach (Site site in _hosts.Sites)
        {
            site.Catalog.Changed -= AcquireEverywhere;
        }

        foreach (SessionReactorState? reactorState in _reactorStates)
        {
            reactorState?.Dispose();
        }
    }

    /// <summary>Moves idle reactors on, too: they would otherwise keep the files of an old snapshot open.</summary>
    private void AcquireEverywhere()
    {
        foreach (Reactor reactor in _group.Reactors)
        {
            reactor.Post(_ => _reactorStates[reactor.Index]?.AcquireLatest(), null);
        }
    }
}
