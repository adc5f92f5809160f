using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Decides how a request is answered. Pure: the same request and snapshot give the same plan, and nothing is read or sent.
/// </summary>
internal static class Planner
{
    /// <param name="method">The method; framing errors are the caller's to refuse first.</param>
    /// <param name="decodedPath">The path of the target, percent-decoded once, without dot segments, starting with '/'.</param>
    /// <param name="query">The query of the target as it was sent, without its '?'. Empty for none.</param>
    /// <param name="snapshot">A snapshot the caller has leased.</param>
    public static Plan Plan(
        RequestMethod method, ReadOnlySpan<byte> decodedPath, ReadOnlySpan<byte> query, CatalogSnapshot snapshot)
    {
        // Before the path: no resource of a static site takes another method, whether it exists or not.
        switch (method)
        {
            case RequestMethod.Unknown:
                return Planning.Plan.Only(PlanStatus.NotImplemented);
            case RequestMethod.Other:
                return Planning.Plan.Only(PlanStatus.MethodNotAllowed);
            case RequestMethod.Options:
                return Planning.Plan.Only(PlanStatus.NoContent);
            default:
                break;
        }

        return snapshot.TryFind(decodedPath, out Asset? asset, out _) switch
        {
            PathMatch.Asset => Planning.Plan.Serve(asset!, method == RequestMethod.Get ? PlanBody.Asset : PlanBody.None),
            PathMatch.DirectoryWithoutSlash => Planning.Plan.Redirect(RedirectLocation.WithSlash(decodedPath, query)),
            _ => Planning.Plan.Only(PlanStatus.NotFound),
        };
    }
}
