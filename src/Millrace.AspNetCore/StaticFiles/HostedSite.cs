using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>A site that an application serves. Any thread.</summary>
internal sealed class HostedSite(Site site) : IDisposable
{
    public ResponsePlanner Planner => site.Planner;

    /// <summary>The site's authentication; null for public access.</summary>
    public BasicAuthentication? Access => site.Access;

    public bool Revalidates => site.Revalidates;

    public SnapshotLease Lease() => site.Catalog.AcquireForRequest();

    /// <summary>
    /// Has the site check whether its files for a request have changed. Copies the request, as the scratch memory is reused during the
    /// wait.
    /// </summary>
    public Task RevalidateAsync(scoped in PlanRequest request) =>
        site.RevalidateAsync(request.Path.ToArray(), request.Query.ToArray(), request.Accept.ToArray());

    public void Dispose() => site.Dispose();
}
