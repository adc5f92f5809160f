using Millrace.Engine;
using Millrace.StaticFiles;
using Millrace.Web.Exchanges;
using Millrace.Web.Http1;
using Millrace.Web.Http2;

namespace Millrace.Web;

/// <summary>
/// Sites served over HTTP/1.1 and HTTP/2: <see cref="ServeAsync"/> is the handler to listen with. Each reactor gets a workbench of its
/// own on its first connection.
/// </summary>
internal sealed class StaticSites : IAsyncDisposable
{
    private volatile HostTable _hosts;
    private readonly WebLimits _limits;
    private readonly ReactorGroup _group;
    private readonly Func<Reactor, IExchangeObserver>? _observe;
    private readonly Workbench?[] _benches;

    /// <param name="hosts">The sites.</param>
    /// <param name="limits">The bounds of sessions.</param>
    /// <param name="group">Whose connections are served.</param>
    /// <param name="observe">
    /// Makes a reactor's observer, on its thread and once; null where nobody observes, which then costs a look a request.
    /// </param>
    public StaticSites(HostTable hosts, WebLimits limits, ReactorGroup group, Func<Reactor, IExchangeObserver>? observe = null)
    {
        _observe = observe;
        _hosts = hosts;
        _limits = limits;
        _group = group;
        _benches = new Workbench?[group.Reactors.Count];
        foreach (Site site in hosts.Sites)
        {
            site.Catalog.Changed += AdoptEverywhere;
        }
    }

    /// <summary>Serves a connection in HTTP/2 from its first byte: for one whose client has agreed on it (ALPN's "h2").</summary>
    public Task ServeHttp2Async(Connection connection) => new Http2Session(connection, BenchOf(connection.Reactor)).RunAsync();

    /// <summary>Serves a connection: in HTTP/1.1, or in HTTP/2 where that is what its client begins with.</summary>
    public Task ServeAsync(Connection connection) => new Http1Session(connection, BenchOf(connection.Reactor)).RunAsync();

    /// <summary>Sends a connection's client to HTTPS, on another port of this host.</summary>
    public Task RedirectAsync(Connection connection, int httpsPort) =>
        RedirectSession.RunAsync(connection, BenchOf(connection.Reactor), httpsPort);

    /// <summary>Answers a connection beyond a limit.</summary>
    public Task RefuseAsync(Connection connection) => RefusedSession.RunAsync(connection, BenchOf(connection.Reactor));

    /// <summary>
    /// Serves other sites from now on, on connections that are open as well. Completes when no request will begin at those left out, which
    /// then may be disposed. Not beside another call, nor while the group stops.
    /// </summary>
    public async Task ExchangeAsync(HostTable hosts)
    {
        HostTable before = _hosts;
        foreach (Site site in hosts.Sites.Except(before.Sites))
        {
            site.Catalog.Changed += AdoptEverywhere;
        }

        _hosts = hosts;
        foreach (Reactor reactor in _group.Reactors)
        {
            await reactor.PostAsync(() => _benches[reactor.Index]?.Exchange(hosts)).ConfigureAwait(false);
        }

        foreach (Site site in before.Sites.Except(hosts.Sites))
        {
            site.Catalog.Changed -= AdoptEverywhere;
        }
    }

    /// <summary>Stops the group, unless it is stopped already, and gives the snapshots back, which its reactors then use no more.</summary>
    public async ValueTask DisposeAsync()
    {
        await _group.DisposeAsync().ConfigureAwait(false);
        foreach (Site site in _hosts.Sites)
        {
            site.Catalog.Changed -= AdoptEverywhere;
        }

        foreach (Workbench? bench in _benches)
        {
            bench?.Dispose();
        }
    }

    private Workbench BenchOf(Reactor reactor)
    {
        // Each element is one reactor's alone, so nothing is shared but the array itself.
        ref Workbench? bench = ref _benches[reactor.Index];
        return bench ??= new Workbench(reactor, _hosts, _limits, files: null, _observe?.Invoke(reactor));
    }

    /// <summary>A reactor without requests would otherwise keep the files of a version long gone open.</summary>
    private void AdoptEverywhere()
    {
        foreach (Reactor reactor in _group.Reactors)
        {
            reactor.Post(_ => _benches[reactor.Index]?.AdoptLatest(), null);
        }
    }
}
