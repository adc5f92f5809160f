using Millrace.StaticFiles;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer;

/// <summary>One reactor's binding to one site: the snapshot it currently leases. Reactor thread only.</summary>
internal sealed class SiteBinding(Site site, AssetFiles? files = null) : IDisposable
{
    private readonly SnapshotBinding _binding = new(site.Catalog, files);

    public Site Site => site;

    /// <summary>The leased snapshot.</summary>
    public SnapshotLease Current => _binding.Current;

    /// <summary>Moves to the latest snapshot, which requests planned now use.</summary>
    public SnapshotLease AcquireLatest()
    {
        _binding.AcquireLatest();
        return _binding.Current;
    }

    public void Dispose() => _binding.Dispose();
}
