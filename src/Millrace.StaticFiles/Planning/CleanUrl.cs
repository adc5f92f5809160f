using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>Paths without ".html": "/about" is the URL path of "/about.html", and "/docs/" that of "/docs/index.html".</summary>
internal static class CleanUrl
{
    public static ReadOnlySpan<byte> Extension => ".html"u8;

    private static ReadOnlySpan<byte> IndexName => "index.html"u8;

    /// <summary>
    /// Whether a path that names an asset is longer than the asset's clean path, and the last segment of that path: empty for the index of
    /// its directory.
    /// </summary>
    public static bool TryShorten(ReadOnlySpan<byte> path, Asset asset, out ReadOnlySpan<byte> name)
    {
        name = default;
        // An index that was found by its directory's path has its clean path already.
        if (path[^1] == '/' || !path.EndsWith(Extension) || !SitePath.LastSegment(path).SequenceEqual(asset.SitePath.Name))
        {
            return false;
        }

        ReadOnlySpan<byte> segment = SitePath.LastSegment(path);
        name = segment.SequenceEqual(IndexName) ? default : segment[..^Extension.Length];
        return segment.Length > Extension.Length;
    }

    /// <summary>The path of the file for a clean path; empty for the root, which has none.</summary>
    public static ReadOnlySpan<byte> FileFor(scoped ReadOnlySpan<byte> path, PlanScratch scratch)
    {
        if (path.IsEmpty || path[^1] == '/')
        {
            return default;
        }

        Span<byte> room = scratch.TargetRoom(path.Length + Extension.Length);
        path.CopyTo(room);
        Extension.CopyTo(room[path.Length..]);
        return room[..(path.Length + Extension.Length)];
    }
}
