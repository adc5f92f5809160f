using Millrace.Engine;
using Millrace.StaticFiles;
using Millrace.Web.Http1;

namespace Millrace.Web;

/// <summary>
/// Sites served over HTTP/1.1: <see cref="ServeAsync"/> is the handler to listen with. Each reactor gets a workbench of its own on
/// its first connection.
/// </summary>
internal sealed class StaticSites : IAsyncDisposable
{
    private readonly HostTable _hosts;
    private readonly WebLimits _limits;
    private readonly ReactorGroup _group;
    private readonly Workbench?[] _benches;

    public StaticSites(HostTable hosts, WebLimits limits, ReactorGroup group)
    {
        _hosts = hosts;
        _limits = limits;
        _group = group;
        _benches = new Workbench?[group.Reactors.Count];
        foreach (Site site in hosts.Sites)
        {
            site.Catalog.Changed += AdoptEverywhere;
        }
    }

    /// <summary>Serves a connection.</summary>
    public Task ServeAsync(Connection connection) => new Http1Session(connection, BenchOf(connection.Reactor)).RunAsync();

    /// <summary>Answers a connection beyond a limit.</summary>
    public Task RefuseAsync(Connection connection) => RefusedSession.RunAsync(connection, BenchOf(connection.Reactor));

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
        return bench ??= new Workbench(reactor, _hosts, _limits);
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
