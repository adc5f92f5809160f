using Millrace.StaticFiles.Planning;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// What the rules about access have granted for some paths, without the request: its client may see every path that needs no more than
/// these. One thread at a time.
/// </summary>
internal sealed class AccessNeeds(SiteAccess access, PlanScratch scratch)
{
    private readonly HashSet<object> _granted = [];
    private readonly HashSet<object> _needed = [];

    /// <summary>Adds a path that the client may see.</summary>
    public void Grant(ReadOnlySpan<byte> path) => access.AddNeeds(path, scratch, _granted);

    /// <summary>Whether the client may see a path. Not if a service decides on it, which decides on each path by itself.</summary>
    public bool Covers(ReadOnlySpan<byte> path)
    {
        if (access.IsEmpty)
        {
            return true;
        }

        _needed.Clear();
        access.AddNeeds(path, scratch, _needed);
        return _needed.IsSubsetOf(_granted) && !access.AsksService(path, scratch);
    }
}
