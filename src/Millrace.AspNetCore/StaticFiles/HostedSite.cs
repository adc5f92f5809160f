using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>A site that an application serves, and the snapshot binding of its requests. Any thread.</summary>
internal sealed class HostedSite(Site site) : IDisposable
{
    private readonly SharedSnapshotBinding _binding = new(site.Catalog);

    public ResponsePlanner Planner => site.Planner;

    /// <summary>The site's authentication; null for public access.</summary>
    public BasicAuthentication? Access => site.Access;

    public bool Revalidates => site.Revalidates;

    public SnapshotReference Lease() => _binding.Lease();

    /// <summary>
    /// Has the site check whether its files for a request have changed. Copies the request, as the scratch memory is reused during the
    /// wait.
    /// </summary>
    public Task RevalidateAsync(scoped in PlanRequest request) =>
        site.RevalidateAsync(request.Path.ToArray(), request.Query.ToArray(), request.Accept.ToArray());

    public void Dispose()
    {
        _binding.Dispose();
        site.Dispose();
    }
}
