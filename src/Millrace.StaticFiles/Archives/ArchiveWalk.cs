using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Archives;

/// <summary>
/// Enumerates what an archive holds, each directory before its files, and these by name before its subdirectories: what the listings show
/// and the requester may see. One thread at a time, under a lease on the snapshot.
/// </summary>
/// <remarks>
/// A path that needs more than the archived directory, or that a proxy or a forced rule answers, is left out, a directory with all of its
/// content. Links to directories: one that leads into the archived directory, or to one above it, is left out; what another leads to is
/// there once, so that neither loops nor numbers of paths beyond those of the site can occur.
/// </remarks>
internal sealed class ArchiveWalk
{
    private readonly CatalogSnapshot _snapshot;
    private readonly SiteDirectory _top;
    private readonly AccessNeeds _access;
    private readonly PlanScratch _scratch = new();
    private readonly Stack<Level> _levels = new();
    private readonly HashSet<SitePath> _followed = [];
    private readonly bool _isAllVisible;
    private readonly bool _hasCleanUrls;

    public ArchiveWalk(DirectoryArchive archive, CatalogSnapshot snapshot)
    {
        _snapshot = snapshot;
        _top = archive.Directory;
        _isAllVisible = archive.Access.IsEmpty && snapshot.Rules.Proxies.IsEmpty && snapshot.Rules.ForcedRoutes.IsEmpty;
        _hasCleanUrls = archive.Archives.HasCleanUrls;
        _access = new AccessNeeds(archive.Access, _scratch);
        _access.Grant(archive.UrlPath);
        _access.Grant(_top.Path);
        Enter(_top, new ArchiveSubtree(archive.Name.ToArray(), archive.UrlPath[..^1].ToArray(), _top.SitePath));
    }

    public ArchiveEntry Current { get; private set; }

    public ArchiveWalkResult MoveNext()
    {
        if (!_levels.TryPeek(out Level? level))
        {
            return ArchiveWalkResult.End;
        }

        int next = level.Next++;
        SiteDirectory directory = level.Directory;
        if (next == 0)
        {
            Current = new ArchiveEntry(level.Subtree, directory.SitePath, null, directory.State.ModifiedAtNs);
            return ArchiveWalkResult.Entry;
        }

        next--;
        if (next < directory.Assets.Length)
        {
            Asset file = directory.Assets[next];
            Current = new ArchiveEntry(level.Subtree, file.SitePath, file, file.ModifiedAtNs);
            return IsVisible(level.Subtree, file.SitePath, isDirectory: false) ? ArchiveWalkResult.Entry : ArchiveWalkResult.LeftOut;
        }

        next -= directory.Assets.Length;
        if (next < directory.Subdirectories.Count)
        {
            EnterSubdirectory(level.Subtree, directory.Subdirectories[next]);
        }
        else if (next - directory.Subdirectories.Count is var alias && alias < directory.Aliases.Count)
        {
            Follow(level.Subtree, directory.Aliases[alias]);
        }
        else
        {
            _levels.Pop();
        }

        return ArchiveWalkResult.LeftOut;
    }

    private static bool IsWithin(ReadOnlySpan<byte> path, ReadOnlySpan<byte> directory) =>
        path.StartsWith(directory) && (path.Length == directory.Length || path[directory.Length] == '/');

    private void Enter(SiteDirectory directory, ArchiveSubtree subtree) => _levels.Push(new Level(directory, subtree));

    private void EnterSubdirectory(ArchiveSubtree subtree, SitePath path)
    {
        if (_snapshot.Table.Find(path.Bytes) is { } found && IsVisible(subtree, path, isDirectory: true))
        {
            Enter(found, subtree);
        }
    }

    private void Follow(ArchiveSubtree subtree, DirectoryAlias alias)
    {
        ReadOnlySpan<byte> target = alias.Target.Bytes;
        if (IsWithin(target, _top.Path)
            || IsWithin(_top.Path, target)
            || _snapshot.Table.Find(target) is not { } found
            || !IsVisible(subtree, alias.Path, isDirectory: true))
        {
            return;
        }

        var linked = new ArchiveSubtree(subtree.NameOf(alias.Path), subtree.UrlPathOf(alias.Path), found.SitePath);
        if (IsVisible(linked, found.SitePath, isDirectory: true) && _followed.Add(found.SitePath))
        {
            Enter(found, linked);
        }
    }

    /// <summary>
    /// Whether a request can name an entry, and the requester may see it under all of its paths and would be answered with it.
    /// </summary>
    private bool IsVisible(ArchiveSubtree subtree, SitePath path, bool isDirectory)
    {
        if (subtree.UrlPathBytesOf(path) > SitePath.BytesMax)
        {
            return false;
        }

        if (_isAllVisible)
        {
            return true;
        }

        ReadOnlySpan<byte> end = isDirectory ? "/"u8 : default;
        ReadOnlySpan<byte> urlPath = [.. subtree.UrlPathOf(path), .. end];
        ReadOnlySpan<byte> sitePath = [.. path.Bytes, .. end];
        return IsVisibleAt(subtree, path, urlPath, sitePath)
            && (isDirectory || !_hasCleanUrls || !sitePath.EndsWith(CleanUrl.Extension)
                || IsVisibleAt(subtree, path, urlPath[..^CleanUrl.Extension.Length], sitePath[..^CleanUrl.Extension.Length]));
    }

    private bool IsVisibleAt(ArchiveSubtree subtree, SitePath path, ReadOnlySpan<byte> urlPath, ReadOnlySpan<byte> sitePath) =>
        IsVisibleAt(path, urlPath, isOther: false) && (subtree.HasOwnPaths || IsVisibleAt(path, sitePath, isOther: true));

    private bool IsVisibleAt(SitePath path, ReadOnlySpan<byte> requested, bool isOther) =>
        _access.Covers(requested)
        && IsAnsweredWith(path, requested, _snapshot.Rules.Proxies, isOther)
        && IsAnsweredWith(path, requested, _snapshot.Rules.ForcedRoutes, isOther);

    /// <summary>
    /// Whether no rule that precedes files answers with something else. At another path than the one it has in the archive an entry may be
    /// redirected: that names its place, and hides nothing.
    /// </summary>
    private bool IsAnsweredWith(SitePath path, ReadOnlySpan<byte> urlPath, RouteTable rules, bool isOther)
    {
        if (rules.IsEmpty)
        {
            return true;
        }

        RuleMatch match = rules.Match(urlPath, default, _scratch.RuleRoom, out RuleTarget target);
        return match == RuleMatch.None
            || (isOther && match == RuleMatch.Redirect)
            || (match == RuleMatch.Rewrite && target.Status == PlanStatus.Ok && target.Path.TrimEnd((byte)'/').SequenceEqual(path.Bytes));
    }

    /// <summary>A directory that is being enumerated: itself, its files, its subdirectories, its links.</summary>
    private sealed class Level(SiteDirectory directory, ArchiveSubtree subtree)
    {
        public SiteDirectory Directory => directory;

        public ArchiveSubtree Subtree => subtree;

        public int Next { get; set; }
    }
}

internal enum ArchiveWalkResult
{
    /// <summary>There is an entry.</summary>
    Entry,

    /// <summary>Something was left out, or its entries follow.</summary>
    LeftOut,

    /// <summary>There are no more entries.</summary>
    End,
}
