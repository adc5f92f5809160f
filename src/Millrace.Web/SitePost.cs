using Millrace.StaticFiles;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web;

/// <summary>One reactor's place at one site: the snapshot it has adopted. Reactor thread only.</summary>
internal sealed class SitePost(Site site, AssetFiles? files = null) : IDisposable
{
    private readonly SnapshotAdopter _adopter = new(site.Catalog, files);

    public Site Site => site;

    /// <summary>What was adopted last.</summary>
    public Adoption Adopted => _adopter.Current;

    /// <summary>The snapshot that a request planned now is answered from: the latest.</summary>
    public Adoption AdoptLatest()
    {
        _adopter.AdoptLatest();
        return _adopter.Current;
    }

    public void Dispose() => _adopter.Dispose();
}
