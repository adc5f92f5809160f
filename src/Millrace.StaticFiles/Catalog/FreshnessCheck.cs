using Millrace.Interop.Files;
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

        if (content.RuleFiles is RuleFileStates ruleFiles && !RuleFiles.Look(root).AreThoseOf(ruleFiles))
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
        ReadOnlySpan<byte> name = NextSegment(directory, decodedPath);
        if (!IsCurrent(directory, root) || !IsCurrent(AssetOf(directory, decodedPath), root))
        {
            changed = directory;
            return Freshness.DirectoryChanged;
        }

        if (IsReadableNow(directory, root) || IsServedNow(directory, name, content))
        {
            changed = directory;
            return Freshness.Doubtful;
        }

        if (content.RuleFiles is { Refused.Reason: SkipReason.IoError })
        {
            changed = content.Table.Find([]);
            return Freshness.Doubtful;
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

    /// <summary>What the path goes on with behind a directory; empty for the directory itself.</summary>
    private static ReadOnlySpan<byte> NextSegment(SiteDirectory directory, ReadOnlySpan<byte> decodedPath)
    {
        ReadOnlySpan<byte> rest = decodedPath[Math.Min(directory.Path.Length + 1, decodedPath.Length)..];
        int slash = rest.IndexOf((byte)'/');
        return slash < 0 ? rest : rest[..slash];
    }

    private static bool IsCurrent(SiteDirectory directory, RootDirectory root) =>
        directory.IsSettled && root.Look(directory.SitePath.RelativeZ, out FileState now) == 0 && now == directory.State;

    private static bool IsReadableNow(SiteDirectory directory, RootDirectory root) =>
        !directory.IsComplete && Closes(root.OpenDirectory(directory.SitePath.RelativeZ));

    /// <summary>
    /// Whether an entry that was passed over answers by now: of the name itself, or of a page or a coded sibling of that name. A link's
    /// target may come, and a file system's error pass, without a change of the directory.
    /// </summary>
    private static bool IsServedNow(SiteDirectory directory, ReadOnlySpan<byte> name, SnapshotContent content)
    {
        for (int i = 0; i < directory.Unserved.Count; i++)
        {
            SitePath unserved = directory.Unserved[i];
            bool isMeant = name.IsEmpty ? BelongsToIndex(unserved.Name, content.IndexNames) : BelongsTo(unserved.Name, name);
            if (isMeant && CanBeServed(unserved, content.Root))
            {
                return true;
            }
        }

        return false;
    }

    private static bool BelongsToIndex(ReadOnlySpan<byte> entry, IReadOnlyList<byte[]> indexNames)
    {
        for (int i = 0; i < indexNames.Count; i++)
        {
            if (BelongsTo(entry, indexNames[i]))
            {
                return true;
            }
        }

        return false;
    }

    private static bool BelongsTo(ReadOnlySpan<byte> entry, ReadOnlySpan<byte> name) =>
        entry.StartsWith(name) && (entry.Length == name.Length || entry[name.Length] == '.');

    /// <summary>Opened only once it is known to be no FIFO and no device: those would notice.</summary>
    private static bool CanBeServed(SitePath path, RootDirectory root) =>
        root.Look(path.RelativeZ, out FileState now) == 0 && now.Type switch
        {
            FileType.Regular => Closes(root.OpenFile(path.RelativeZ)),
            FileType.Directory => true,
            _ => false,
        };

    /// <summary>Whether it could be opened.</summary>
    private static bool Closes(int fd) => fd >= 0 && FileCalls.Close(fd) == 0;

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
