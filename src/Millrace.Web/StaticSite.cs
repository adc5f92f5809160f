using Millrace.Engine;
using Millrace.StaticFiles.Catalog;
using Millrace.Web.Http1;

namespace Millrace.Web;

/// <summary>
/// A catalogue served over HTTP/1.1: <see cref="ServeAsync"/> is the handler to listen with. Each reactor gets a workbench of its own on
/// its first connection.
/// </summary>
internal sealed class StaticSite(AssetCatalog catalog, WebLimits limits, int reactors)
{
    private readonly Workbench?[] _benches = new Workbench?[reactors];

    public Task ServeAsync(Connection connection)
    {
        // Each element is one reactor's alone, so nothing is shared but the array itself.
        ref Workbench? bench = ref _benches[connection.Reactor.Index];
        bench ??= new Workbench(connection.Reactor, catalog, limits);
        return new Http1Session(connection, bench).RunAsync();
    }

    /// <summary>Gives the snapshots back. Only after the reactors have stopped.</summary>
    public void Release()
    {
        foreach (Workbench? bench in _benches)
        {
            bench?.Dispose();
        }
    }
}
