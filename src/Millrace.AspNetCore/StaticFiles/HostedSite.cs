using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>A site that an application serves, and the snapshots that its requests lease. Any thread may use it.</summary>
internal sealed class HostedSite(Site site) : IDisposable
{
    private readonly SharedAdopter _adopter = new(site.Catalog);

    public Planner Planner => site.Planner;

    /// <summary>Who may read it; null for everybody.</summary>
    public BasicAuthentication? Access => site.Access;

    public bool Revalidates => site.Revalidates;

    public SnapshotLease Lease() => _adopter.Lease();

    /// <summary>
    /// Has the site look whether what answers a request is still as it knows it. With copies: the scratch is another's soon.
    /// </summary>
    public Task RevalidateAsync(scoped in PlanRequest request) =>
        site.RevalidateAsync(request.Path.ToArray(), request.Query.ToArray(), request.Accept.ToArray());

    public void Dispose()
    {
        _adopter.Dispose();
        site.Dispose();
    }
}
