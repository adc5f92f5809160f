using System.Runtime.InteropServices;
using Millrace.Interop;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// Lists directories of a root: all of them, or those that changed and what is new below. Opens nothing for reading but directories, one
/// at a time, and each by its path from the root: what a walk can reach is exactly what opening on demand can reach later.
/// </summary>
/// <remarks>
/// Symlinks are followed where the kernel finds them inside the root, also to names that start with a dot: a link was put there by the
/// owner (Kubernetes mounts a volume as <c>index.html -> ..data/index.html</c>).
/// </remarks>
internal sealed partial class SiteWalk(
    RootDirectory root, SiteOptions options, DirectoryTable previous, SkippedEntries skipped, IDirectoryObserver? observer)
{
    private readonly Dictionary<SitePath, ListedDirectory> _listed = [];
    private readonly Stack<ListedDirectory> _pending = new();
    private readonly HashSet<SitePath> _left = [];
    private int _entryCount;

    public IReadOnlyCollection<ListedDirectory> Listed => _listed.Values;

    /// <summary>The root, if it was listed.</summary>
    public ListedDirectory? RootListed => _listed.GetValueOrDefault(SitePath.Root);

    /// <summary>The directories of the snapshot before that are no more.</summary>
    public IReadOnlySet<SitePath> Left => _left;

    public bool IsListed(SitePath path) => _listed.ContainsKey(path);

    /// <summary>Lists the whole site.</summary>
    public void All()
    {
        Enter(new ListedDirectory(SitePath.Root, previous.Find([]), null) { IsNew = true });
        Finish();
    }

    /// <summary>Lists what changed in some directories, what is new or replaced below them, and those they went away from.</summary>
    /// <param name="changes">Unknown ones are passed over: the directory they appeared in tells of them.</param>
    public void Some(IReadOnlyCollection<DirectoryChange> changes)
    {
        // From the top: a directory that is listed as new lists all below it itself.
        foreach (DirectoryChange change in changes.OrderBy(change => change.Path.Length))
        {
            if (previous.Find(change.Path) is SiteDirectory known && !_listed.ContainsKey(known.SitePath) && IsReached(known.Path))
            {
                Enter(new ListedDirectory(known.SitePath, known, PlaceOfParent(known.SitePath)) { Names = change.Names });
            }
        }

        Finish();
    }

    private void Enter(ListedDirectory directory)
    {
        _listed.Add(directory.Path, directory);
        _pending.Push(directory);
        while (_pending.TryPop(out ListedDirectory? next))
        {
            List(next);
        }
    }

    private void AddSubdirectory(ListedDirectory directory, SitePath path, in FileState state)
    {
        SiteDirectory? known = previous.Find(path.Bytes);
        path = known?.SitePath ?? path;
        bool isSame = known is not null && known.State.IsSameFile(state);
        directory.Subdirectories.Add(path);
        // By its whole state: a directory made in place of another may be given that one's inode.
        if (known is { IsComplete: true, IsSettled: true } && known.State == state && !directory.IsNew)
        {
            return;
        }

        var listed = new ListedDirectory(path, known, directory.Place) { IsNew = directory.IsNew || !isSame, State = state };
        if (_listed.TryAdd(path, listed))
        {
            _pending.Push(listed);
        }
    }

    /// <summary>A directory that cannot be listed is one without entries, unless it went away.</summary>
    private void OnUnreadable(ListedDirectory directory, int error)
    {
        if (directory.Path.IsRoot)
        {
            throw new SiteException(
                $"The root '{options.Root}' cannot be listed: {Marshal.GetPInvokeErrorMessage(error)}.", "Check that it is still there.");
        }

        if (error is not (Errno.ENOENT or Errno.ENOTDIR or Errno.ELOOP or Errno.EXDEV))
        {
            directory.IsComplete = false;
            skipped.Note(directory, directory.Path.Bytes, error);
            return;
        }

        _listed.Remove(directory.Path);
        SitePath parent = SitePath.Of(directory.Path.Parent);
        if (_listed.TryGetValue(parent, out ListedDirectory? listed))
        {
            listed.Subdirectories.Remove(directory.Path);
        }
        else if (previous.Find(parent.Bytes) is SiteDirectory known)
        {
            // It was asked for by itself. What stands in its place, only the directory it was in can tell.
            var again = new ListedDirectory(known.SitePath, known, PlaceOfParent(known.SitePath));
            _listed.Add(known.SitePath, again);
            _pending.Push(again);
        }
    }

    /// <summary>
    /// What a listing does not show any more is gone with all below it. From the top, so that it is gone before that is asked.
    /// </summary>
    private void Finish()
    {
        foreach (ListedDirectory directory in _listed.Values.OrderBy(directory => directory.Path.Bytes.Length).ToArray())
        {
            if (!IsHeld(directory.Path))
            {
                _listed.Remove(directory.Path);
                Leave(directory.Path);
                continue;
            }

            foreach (SitePath subdirectory in directory.Previous?.Subdirectories ?? [])
            {
                if (!directory.Subdirectories.Contains(subdirectory))
                {
                    Leave(subdirectory);
                }
            }
        }
    }

    /// <summary>
    /// Whether the directory that a listed one is in has it. It has not where that one went away, or lost and regained it, during the
    /// walk.
    /// </summary>
    private bool IsHeld(SitePath path)
    {
        if (path.IsRoot)
        {
            return true;
        }

        SitePath parent = SitePath.Of(path.Parent);
        return _listed.TryGetValue(parent, out ListedDirectory? listed)
            ? listed.Subdirectories.Contains(path)
            : previous.Find(parent.Bytes) is not null && !_left.Contains(parent);
    }

    private void Leave(SitePath path)
    {
        if (previous.Find(path.Bytes) is SiteDirectory directory && _left.Add(directory.SitePath))
        {
            _listed.Remove(directory.SitePath);
            foreach (SitePath subdirectory in directory.Subdirectories)
            {
                Leave(subdirectory);
            }
        }
    }

    /// <summary>Whether no listing of this walk has shown that a directory, or one it lies in, went away.</summary>
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

    private Place? PlaceOfParent(SitePath path)
    {
        if (path.IsRoot)
        {
            return null;
        }

        SitePath parent = SitePath.Of(path.Parent);
        FileState state = _listed.TryGetValue(parent, out ListedDirectory? listed) ? listed.State : previous.Find(parent.Bytes)!.State;
        return new Place(state, PlaceOfParent(parent));
    }

    /// <summary>
    /// Throws where these are too many. A walk that has listed so many asks by itself, as symlinks between directories might never let
    /// it end; of a walk of some directories, only who knows the others can tell when it has ended.
    /// </summary>
    public void RequireEntries(long entryCount)
    {
        if (entryCount > options.EntriesMax)
        {
            throw new SiteException(
                $"The root '{options.Root}' has more than {options.EntriesMax} entries.",
                $"Raise {nameof(SiteOptions.EntriesMax)}, or look for symlinks between its directories.");
        }
    }
}
