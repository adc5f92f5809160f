using Millrace.Interop.Files;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// Walks a root once and gathers the paths of its regular files and directories. Opens nothing for reading but directories, one at a
/// time (a tree of any depth takes two descriptors), and each by its path from the root: what a walk can reach is exactly what opening
/// on demand can reach later.
/// </summary>
/// <remarks>
/// Symlinks are followed where the kernel finds them inside the root, also to names that start with a dot: a link was put there by the
/// owner (Kubernetes mounts a volume as <c>index.html -> ..data/index.html</c>).
/// </remarks>
internal sealed class TreeWalk(RootDirectory root, SiteOptions options, SkippedEntries skipped)
{
    private const int RecordsBytes = 64 * 1024;

    private readonly byte[] _records = new byte[RecordsBytes];
    private readonly byte[] _pathZ = new byte[PathTable.PathBytesMax + 1];
    private readonly Stack<Place> _pending = new();
    private int _entryCount;

    public PathTable Paths { get; } = new();

    public List<WalkedFile> Files { get; } = [];

    /// <summary>The directories, by their place in <see cref="Paths"/>. The root's path is empty.</summary>
    public List<int> Directories { get; } = [];

    public void Run()
    {
        Enter([], new Place(0, null, root.State));
        while (_pending.TryPop(out Place? place))
        {
            List(place);
        }

        Paths.Trim();
    }

    private void List(Place place)
    {
        int fd = root.OpenDirectory(place.IsRoot ? ".\0"u8 : Paths.RelativePathZAt(place.PathIndex));
        if (fd < 0)
        {
            skipped.Note(PathOf(place), -fd);
            return;
        }

        try
        {
            int recordBytes;
            while ((recordBytes = FileCalls.ReadDirectory(fd, _records)) > 0)
            {
                var entries = new DirectoryEntries(_records.AsSpan(0, recordBytes));
                while (entries.MoveNext())
                {
                    Visit(place, entries.Name);
                }
            }

            if (recordBytes < 0)
            {
                skipped.Note(PathOf(place), -recordBytes);
            }
        }
        finally
        {
            _ = FileCalls.Close(fd);
        }
    }

    private void Visit(Place parent, ReadOnlySpan<byte> name)
    {
        if (IsHidden(parent, name))
        {
            return;
        }

        CountEntry();
        ReadOnlySpan<byte> directory = Paths.PathAt(parent.PathIndex);
        int pathBytes = directory.Length + 1 + name.Length;
        if (pathBytes > PathTable.PathBytesMax)
        {
            skipped.Note(PathOf(parent), SkipReason.PathTooLong);
            return;
        }

        directory.CopyTo(_pathZ);
        _pathZ[directory.Length] = (byte)'/';
        name.CopyTo(_pathZ.AsSpan(directory.Length + 1));
        _pathZ[pathBytes] = 0;
        Sort(parent, _pathZ.AsSpan(0, pathBytes), _pathZ.AsSpan(1, pathBytes));
    }

    /// <summary>Decides what an entry is, following it if it is a symlink.</summary>
    private void Sort(Place parent, ReadOnlySpan<byte> path, ReadOnlySpan<byte> relativePathZ)
    {
        int result = root.Look(relativePathZ, out FileState state);
        if (result < 0)
        {
            skipped.Note(path, -result);
            return;
        }

        switch (state.Type)
        {
            case FileType.Directory when parent.IsOrLiesIn(state):
                skipped.Note(path, SkipReason.DirectoryCycle);
                break;
            case FileType.Directory:
                Enter(path, new Place(Paths.Count, parent, state));
                break;
            case FileType.Regular:
                int index = Paths.Add(path, PathKind.File);
                // A directory that is renamed into while it is listed may show a name twice.
                if (index != PathTable.Missing)
                {
                    Files.Add(new WalkedFile(index, state.Size));
                }

                break;
            default:
                skipped.Note(path, SkipReason.NotRegular);
                break;
        }
    }

    private void Enter(ReadOnlySpan<byte> path, Place place)
    {
        if (Paths.Add(path, PathKind.Directory) != PathTable.Missing)
        {
            Directories.Add(place.PathIndex);
            _pending.Push(place);
        }
    }

    private bool IsHidden(Place parent, ReadOnlySpan<byte> name) =>
        name[0] == '.'
        && options.Dotfiles == DotfilePolicy.HiddenExceptWellKnown
        && !(parent.IsRoot && name.SequenceEqual(".well-known"u8));

    private void CountEntry()
    {
        if (++_entryCount > options.EntriesMax)
        {
            throw new SiteException(
                $"The root '{options.Root}' has more than {options.EntriesMax} entries.",
                $"Raise {nameof(SiteOptions.EntriesMax)}, or look for symlinks between its directories.");
        }
    }

    private ReadOnlySpan<byte> PathOf(Place place) => place.IsRoot ? "/"u8 : Paths.PathAt(place.PathIndex);

    /// <summary>A directory to list, and the way to it.</summary>
    private sealed record Place(int PathIndex, Place? Parent, FileState State)
    {
        public bool IsRoot => Parent is null;

        /// <summary>
        /// Whether a directory is this one or one of those it lies in: only a symlink to such a one makes a walk endless.
        /// </summary>
        public bool IsOrLiesIn(in FileState directory)
        {
            for (Place? place = this; place is not null; place = place.Parent)
            {
                if (place.State.IsSameFile(directory))
                {
                    return true;
                }
            }

            return false;
        }
    }
}
