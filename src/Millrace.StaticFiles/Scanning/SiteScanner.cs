using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// Lists directories of a root: all of them, or those that changed and what is new below. Opens only directories, one at a time, by path
/// from the root, so that a scan reaches exactly what an open on demand can reach later. One thread.
/// </summary>
/// <remarks>
/// Symlinks that the kernel resolves inside the root are followed, also to names that start with a dot: the owner put the link there
/// (Kubernetes mounts a volume as <c>index.html -> ..data/index.html</c>). A directory with several paths is listed once, under its primary
/// path: its own location if that is part of the site, otherwise the first symlink to it, by length and bytes of the paths. The others are
/// aliases.
/// </remarks>
internal sealed class SiteScanner
{
    /// <summary>
    /// How often directories are listed again for aliases that lost their target meanwhile. If that does not suffice, the tree is changing
    /// constantly, and its changes are reported again.
    /// </summary>
    private const int RepairRoundsMax = 10;

    private readonly SiteOptions _options;
    private readonly DirectoryTable _previous;
    private readonly SkippedEntries _skipped;
    private readonly DeferredLinks _links = new();
    private readonly DirectoryReader _reader;
    private readonly Dictionary<SitePath, ListedDirectory> _listed = [];
    private readonly Stack<ListedDirectory> _pending = new();
    private readonly HashSet<SitePath> _removed = [];

    /// <summary>Whether this is a partial scan: directories that are not listed are unchanged.</summary>
    private bool _isPartial;

    public SiteScanner(
        RootDirectory root,
        SiteOptions options,
        DirectoryTable previous,
        SkippedEntries skipped,
        IDirectoryObserver? observer,
        ScanProgress? progress)
    {
        _options = options;
        _previous = previous;
        _skipped = skipped;
        _reader = new DirectoryReader(root, options, skipped, observer, _links, progress);
    }

    public IReadOnlyCollection<ListedDirectory> Listed => _listed.Values;

    public ListedDirectory? RootListed => _listed.GetValueOrDefault(SitePath.Root);

    /// <summary>The directories of the previous snapshot that no longer exist.</summary>
    public IReadOnlySet<SitePath> Removed => _removed;

    public bool IsListed(SitePath path) => _listed.ContainsKey(path);

    public void ScanAll()
    {
        Enter(new ListedDirectory(SitePath.Root, _previous.Find([]), null) { IsNew = true });
        Finish();
        RepairAliases();
    }

    /// <summary>
    /// Lists what changed in some directories, what is new or replaced below them, and the parents of directories that vanished. Unknown
    /// directories are ignored: the directory they appeared in has changed too.
    /// </summary>
    public void ScanChanges(IReadOnlyCollection<DirectoryChange> changes)
    {
        _isPartial = true;
        _links.UsePrevious(_previous);

        // From the top: a directory that is listed as new lists everything below itself.
        DirectoryChange[] remaining = [.. changes.OrderBy(change => change.Path.Length)];
        int countBefore;
        do
        {
            countBefore = remaining.Length;
            remaining = [.. remaining.Where(change => !TryEnter(change))];

            // A change below a symlink is reached only after the symlink is resolved.
            FollowLinks();
        }
        while (remaining.Length < countBefore && remaining.Length > 0);

        Finish();
        RepairAliases();
    }

    /// <summary>False if it is not reached: by a symlink that is not resolved yet, or no longer.</summary>
    private bool TryEnter(DirectoryChange change)
    {
        if (_previous.Find(change.Path) is SiteDirectory known && !_listed.ContainsKey(known.SitePath))
        {
            if (!IsReached(known.Path))
            {
                return false;
            }

            Enter(Relist(known, change.Names));
        }

        return true;
    }

    private void Enter(ListedDirectory directory)
    {
        _listed[directory.Path] = directory;
        _pending.Push(directory);
        ListPending();
    }

    private ListedDirectory Relist(SiteDirectory known, IReadOnlyCollection<byte[]>? names = null) =>
        new(known.SitePath, known, ChainOfParent(known.SitePath)) { Names = names, IsBelowLink = known.IsBelowLink };

    private void ListPending()
    {
        while (_pending.TryPop(out ListedDirectory? next))
        {
            int result = _reader.Read(next, out IReadOnlyList<(SitePath Path, FileState State)> subdirectories);
            foreach ((SitePath path, FileState state) in subdirectories)
            {
                AddSubdirectory(next, path, state);
            }

            if (result < 0)
            {
                OnUnreadable(next, -result);
            }
        }
    }

    /// <summary>
    /// Resolves the deferred symlinks to directories: only now, because a directory's own location takes precedence if it is part of the
    /// site.
    /// </summary>
    private void FollowLinks()
    {
        while (_links.TryTake(out DeferredLink link))
        {
            if (_listed.GetValueOrDefault(link.Holder.Path) != link.Holder)
            {
                continue;
            }

            SitePath? primary = _links.PrimaryOf(link.State, IsAt);
            if (primary is SitePath other && !other.Equals(link.Path))
            {
                link.Holder.Aliases.Add(new DirectoryAlias(link.Path, other, link.State));
            }
            else if (link.Holder.Chain.Contains(link.State))
            {
                _skipped.Note(link.Holder, link.Path, SkipReason.DirectoryCycle);
            }
            else
            {
                AddSubdirectory(link.Holder, link.Path, link.State, isBelowLink: link.Holder.IsBelowLink || link.IsSymlink);
                ListPending();
            }
        }
    }

    /// <summary>
    /// Lists directories again whose aliases lost their target or lead to another directory by now: another path may be primary then.
    /// </summary>
    private void RepairAliases()
    {
        for (int round = 0; round < RepairRoundsMax; round++)
        {
            ListedDirectory[] broken = [.. FindBroken()];
            if (broken.Length == 0)
            {
                return;
            }

            foreach (ListedDirectory directory in broken)
            {
                Enter(directory);
            }

            Finish();
        }
    }

    private IEnumerable<ListedDirectory> FindBroken()
    {
        foreach (ListedDirectory listed in _listed.Values.Where(HasBrokenAlias).ToArray())
        {
            yield return new ListedDirectory(listed.Path, listed.Previous, listed.Parent)
            {
                IsNew = listed.IsNew,
                IsBelowLink = listed.IsBelowLink,
            };
        }

        for (int i = 0; _previous.HasAliases && i < _previous.Directories.Length; i++)
        {
            SiteDirectory known = _previous.Directories[i];
            if (known.Aliases.Count > 0 && !_removed.Contains(known.SitePath) && !_listed.ContainsKey(known.SitePath)
                && known.Aliases.Any(IsBroken))
            {
                yield return Relist(known);
            }
        }
    }

    private bool HasBrokenAlias(ListedDirectory directory) => directory.Aliases.Exists(IsBroken);

    private bool IsBroken(DirectoryAlias alias) => !IsAt(alias.Target, alias.State);

    /// <summary>Whether a directory is part of the site under this path.</summary>
    private bool IsAt(SitePath path, FileState state) =>
        _listed.TryGetValue(path, out ListedDirectory? listed) ? listed.State.IsSameFile(state)
        : !_removed.Contains(path) && _isPartial && _previous.Find(path.Bytes) is SiteDirectory known && known.State.IsSameFile(state);

    private void AddSubdirectory(ListedDirectory directory, SitePath path, in FileState state, bool isBelowLink = false)
    {
        SiteDirectory? known = _previous.Find(path.Bytes);
        path = known?.SitePath ?? path;
        bool isSame = known is not null && known.State.IsSameFile(state);
        directory.Subdirectories.Add(path);
        // Compares the whole state, because a replacement directory can get the same inode.
        bool wasRemoved = _removed.Remove(path);
        if (known is { IsComplete: true, IsSettled: true } && known.State == state && known.IsBelowLink == isBelowLink
            && !directory.IsNew && !wasRemoved)
        {
            return;
        }

        var listed = new ListedDirectory(path, known, directory.Chain)
        {
            IsNew = directory.IsNew || !isSame || wasRemoved,
            State = state,
            IsBelowLink = isBelowLink,
        };
        if (_listed.TryAdd(path, listed))
        {
            _pending.Push(listed);
        }
    }

    /// <summary>Treats a directory that cannot be listed as empty, unless it vanished.</summary>
    private void OnUnreadable(ListedDirectory directory, int error)
    {
        if (directory.Path.IsRoot)
        {
            string root = _options.Root;
            throw new SiteException(
                $"The root '{root}' cannot be listed: {FileProblem.Of(root, error)}.",
                error == Errno.EACCES ? "Let this user read it: 'chmod o+rx', or its owner or group."
                    : FileProblem.RemedyOf(error, "Check that it is still there."))
            {
                IsMistake = FileProblem.IsMistake(error),
            };
        }

        if (error is not (Errno.ENOENT or Errno.ENOTDIR or Errno.ELOOP or Errno.EXDEV))
        {
            directory.IsComplete = false;
            _skipped.Note(directory, directory.Path, error);
            return;
        }

        _listed.Remove(directory.Path);
        SitePath parent = SitePath.Of(directory.Path.Parent);
        if (_listed.TryGetValue(parent, out ListedDirectory? listed))
        {
            listed.Subdirectories.Remove(directory.Path);
        }
        else if (_previous.Find(parent.Bytes) is SiteDirectory known)
        {
            // It was listed on its own; only its parent can show what replaced it.
            ListedDirectory again = Relist(known);
            _listed.Add(known.SitePath, again);
            _pending.Push(again);
        }
    }

    /// <summary>
    /// Removes directories that no listing shows any more, with all below them. From the top, so that parents are removed before their
    /// children are checked.
    /// </summary>
    private void Finish()
    {
        FollowLinks();
        foreach (ListedDirectory directory in _listed.Values.OrderBy(directory => directory.Path.Bytes.Length).ToArray())
        {
            if (!IsInParent(directory.Path))
            {
                _listed.Remove(directory.Path);
                Remove(directory.Path);
                continue;
            }

            foreach (SitePath subdirectory in directory.Previous?.Subdirectories ?? [])
            {
                if (!directory.Subdirectories.Contains(subdirectory))
                {
                    Remove(subdirectory);
                }
            }
        }
    }

    /// <summary>
    /// Whether the parent of a listed directory still contains it. It does not if the parent vanished, or lost and regained the directory,
    /// during the scan.
    /// </summary>
    private bool IsInParent(SitePath path)
    {
        if (path.IsRoot)
        {
            return true;
        }

        SitePath parent = SitePath.Of(path.Parent);
        return _listed.TryGetValue(parent, out ListedDirectory? listed)
            ? listed.Subdirectories.Contains(path)
            : _previous.Find(parent.Bytes) is not null && !_removed.Contains(parent);
    }

    private void Remove(SitePath path)
    {
        if (_previous.Find(path.Bytes) is SiteDirectory directory && _removed.Add(directory.SitePath))
        {
            _listed.Remove(directory.SitePath);
            foreach (SitePath subdirectory in directory.Subdirectories)
            {
                Remove(subdirectory);
            }
        }
    }

    /// <summary>Whether no listing of this scan has shown that a directory, or one that contains it, vanished.</summary>
    private bool IsReached(ReadOnlySpan<byte> path)
    {
        for (SitePath reached = SitePath.Of(path); !reached.IsRoot; reached = SitePath.Of(reached.Parent))
        {
            if (_listed.TryGetValue(SitePath.Of(reached.Parent), out ListedDirectory? parent) && !parent.Subdirectories.Contains(reached))
            {
                return false;
            }
        }

        return true;
    }

    private DirectoryChain? ChainOfParent(SitePath path)
    {
        if (path.IsRoot)
        {
            return null;
        }

        SitePath parent = SitePath.Of(path.Parent);
        FileState state = _listed.TryGetValue(parent, out ListedDirectory? listed) ? listed.State : _previous.Find(parent.Bytes)!.State;
        return new DirectoryChain(state, ChainOfParent(parent));
    }
}
