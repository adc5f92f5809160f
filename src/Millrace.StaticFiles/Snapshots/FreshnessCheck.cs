using Millrace.Interop.Files;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// Compares what a snapshot knows of a path with the disk, for file systems that do not report changes. A few statx calls, through the root
/// as always; they take as long as the file system takes.
/// </summary>
internal static class FreshnessCheck
{
    /// <param name="decodedPath">As in <see cref="CatalogSnapshot.TryFind"/>, found or not.</param>
    /// <param name="snapshot">A snapshot that the caller has leased.</param>
    /// <param name="changed">The directory to refresh by its path, if the result asks for it.</param>
    public static Freshness Of(ReadOnlySpan<byte> decodedPath, CatalogSnapshot snapshot, out SiteDirectory? changed)
    {
        snapshot.AssertLeased();
        RootDirectory root = snapshot.Root;
        changed = null;
        if (root.StatByName(out FileState named) < 0 || !named.IsSameFile(root.State))
        {
            return Freshness.RootChanged;
        }

        if (snapshot.RuleFiles is RuleFileStates ruleFiles && !RuleFiles.Stat(root).HasSameFiles(ruleFiles))
        {
            changed = snapshot.Table.Find([]);
            return Freshness.DirectoryChanged;
        }

        int slash = decodedPath.LastIndexOf((byte)'/');
        if (slash < 0)
        {
            return Freshness.Current;
        }

        List<AliasMatch>? aliases = snapshot.Table.HasAliases ? [] : null;
        SiteDirectory directory = NearestKnown(snapshot.Table, decodedPath[..slash], aliases, out int bytes);
        foreach (AliasMatch match in aliases ?? [])
        {
            if (!IsCurrent(match, decodedPath, root))
            {
                changed = match.Holder;
                return Freshness.DirectoryChanged;
            }
        }

        ReadOnlySpan<byte> remaining = decodedPath[Math.Min(bytes + 1, decodedPath.Length)..];
        ReadOnlySpan<byte> name = SitePath.FirstSegment(remaining);
        if (!IsCurrent(directory, root) || !IsCurrent(AssetOf(directory, remaining), root))
        {
            changed = directory;
            return Freshness.DirectoryChanged;
        }

        if (IsReadableNow(directory, root) || IsServedNow(directory, name, snapshot))
        {
            changed = directory;
            return Freshness.Doubtful;
        }

        if (snapshot.RuleFiles is { Refused.Reason: SkipReason.IoError })
        {
            changed = snapshot.Table.Find([]);
            return Freshness.Doubtful;
        }

        return Freshness.Current;
    }

    /// <summary>
    /// The directory of a path, or the deepest known one on it: as long as that one is unchanged, nothing appeared in it.
    /// </summary>
    private static SiteDirectory NearestKnown(DirectoryTable table, ReadOnlySpan<byte> path, List<AliasMatch>? aliases, out int bytes)
    {
        while (true)
        {
            aliases?.Clear();
            if (table.Resolve(path, aliases) is SiteDirectory directory)
            {
                bytes = path.Length;
                return directory;
            }

            path = path[..Math.Max(0, path.LastIndexOf((byte)'/'))];
        }
    }

    /// <summary>
    /// Whether an alias still leads to the same directory, which can change without a change of the directory that contains the alias.
    /// </summary>
    private static bool IsCurrent(in AliasMatch match, ReadOnlySpan<byte> path, RootDirectory root) =>
        root.Stat([.. path[1..match.Bytes], 0], out FileState now) == 0 && now.IsSameFile(match.Alias.State);

    private static Asset? AssetOf(SiteDirectory directory, ReadOnlySpan<byte> remaining) =>
        remaining.IsEmpty ? directory.Index : directory.Find(remaining);

    private static bool IsCurrent(SiteDirectory directory, RootDirectory root) =>
        directory.IsSettled && root.Stat(directory.SitePath.RelativeZ, out FileState now) == 0 && now == directory.State;

    private static bool IsReadableNow(SiteDirectory directory, RootDirectory root) =>
        !directory.IsComplete && TryClose(root.OpenDirectory(directory.SitePath.RelativeZ));

    /// <summary>
    /// Whether a skipped entry can be served by now: the name itself, or a page or coded sibling of that name. A link's target can appear,
    /// and an I/O error pass, without a change of the directory.
    /// </summary>
    private static bool IsServedNow(SiteDirectory directory, ReadOnlySpan<byte> name, CatalogSnapshot snapshot)
    {
        for (int i = 0; i < directory.Unserved.Count; i++)
        {
            SitePath unserved = directory.Unserved[i];
            bool matches = name.IsEmpty ? BelongsToIndex(unserved.Name, snapshot.IndexNames) : BelongsTo(unserved.Name, name);
            if (matches && CanBeServed(unserved, snapshot.Root))
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

    /// <summary>Opens a path only after a stat, because opening a FIFO or a device has side effects.</summary>
    private static bool CanBeServed(SitePath path, RootDirectory root) =>
        root.Stat(path.RelativeZ, out FileState now) == 0 && now.Type switch
        {
            FileType.Regular => TryClose(root.OpenFile(path.RelativeZ)),
            FileType.Directory => true,
            _ => false,
        };

    /// <summary>Whether the descriptor was opened; closes it.</summary>
    private static bool TryClose(int fd) => fd >= 0 && FileCalls.Close(fd) == 0;

    private static bool IsCurrent(Asset? asset, RootDirectory root)
    {
        if (asset is null)
        {
            return true;
        }

        if (!asset.IsSettled || root.Stat(asset.SitePath.RelativeZ, out FileState now) < 0 || now != asset.State)
        {
            return false;
        }

        return asset.Siblings.All(sibling => IsCurrent(sibling.File, root));
    }
}

/// <summary>How a path on disk compares with the snapshot.</summary>
internal enum Freshness
{
    Current,

    /// <summary>A directory or a file in it changed: refresh it.</summary>
    DirectoryChanged,

    /// <summary>Nothing changed, but an entry that could not be read may be readable by now: refresh occasionally.</summary>
    Doubtful,

    /// <summary>The root's name leads to another directory, or to none: reload.</summary>
    RootChanged,
}
