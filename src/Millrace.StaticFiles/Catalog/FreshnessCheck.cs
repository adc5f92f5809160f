using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// Compares what a snapshot knows of a path with the disk: for file systems whose changes nobody is told of. A few statx, through the
/// root like everything; the time it takes is the file system's.
/// </summary>
internal static class FreshnessCheck
{
    public static Freshness Of(ReadOnlySpan<byte> decodedPath, SnapshotContent content, out SiteDirectory? changed)
    {
        RootDirectory root = content.Root;
        changed = null;
        if (root.LookByName(out FileState named) < 0 || !named.IsSameFile(root.State))
        {
            return Freshness.RootChanged;
        }

        if (content.RuleFiles is RuleFileStates ruleFiles && RuleFiles.Look(root) != ruleFiles)
        {
            changed = content.Table.Find([]);
            return Freshness.DirectoryChanged;
        }

        int slash = decodedPath.LastIndexOf((byte)'/');
        if (slash < 0)
        {
            return Freshness.Current;
        }

        SiteDirectory directory = NearestKnown(content.Table, decodedPath[..slash]);
        if (!IsCurrent(directory, root) || !IsCurrent(AssetOf(directory, decodedPath), root))
        {
            changed = directory;
            return Freshness.DirectoryChanged;
        }

        return Freshness.Current;
    }

    /// <summary>
    /// The directory of a path, or the deepest it leads through: as long as that one is the same, nothing appeared in it.
    /// </summary>
    private static SiteDirectory NearestKnown(DirectoryTable table, ReadOnlySpan<byte> path)
    {
        while (true)
        {
            if (table.Find(path) is SiteDirectory directory)
            {
                return directory;
            }

            path = path[..Math.Max(0, path.LastIndexOf((byte)'/'))];
        }
    }

    private static Asset? AssetOf(SiteDirectory directory, ReadOnlySpan<byte> decodedPath)
    {
        ReadOnlySpan<byte> name = decodedPath[Math.Min(directory.Path.Length + 1, decodedPath.Length)..];
        return name.IsEmpty ? directory.Index : directory.Find(name);
    }

    private static bool IsCurrent(SiteDirectory directory, RootDirectory root) =>
        directory.IsSettled && root.Look(directory.SitePath.RelativeZ, out FileState now) == 0 && now == directory.State;

    private static bool IsCurrent(Asset? asset, RootDirectory root)
    {
        if (asset is null)
        {
            return true;
        }

        if (!asset.IsSettled || root.Look(asset.SitePath.RelativeZ, out FileState now) < 0 || now != asset.State)
        {
            return false;
        }

        return (asset.Variants?.All ?? [])
            .All(variant => variant.Origin != AssetOrigin.Sibling || IsCurrent(variant, root));
    }
}
