using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>Reads the directories of one scan: all entries of each, or those reported as changed. One thread.</summary>
internal sealed class DirectoryReader(
    RootDirectory root,
    SiteOptions options,
    SkippedEntries skipped,
    IDirectoryObserver? observer,
    DeferredLinks links,
    ScanProgress? progress)
{
    private const int RecordsBytes = 64 * 1024;

    private readonly byte[] _records = new byte[RecordsBytes];
    private readonly List<(SitePath Path, FileState State)> _subdirectories = [];
    private int _entryCount;

    /// <summary>
    /// Reads the entries into <paramref name="directory"/>, except for subdirectories at their own location, which are valid until the next
    /// call. 0, or -errno if it cannot be listed, perhaps after some entries.
    /// </summary>
    public int Read(ListedDirectory directory, out IReadOnlyList<(SitePath Path, FileState State)> subdirectories)
    {
        _subdirectories.Clear();
        subdirectories = _subdirectories;
        directory.CheckedAtNs = WallClock.NowNs;
        progress?.At(directory.Path, _entryCount);
        int fd = root.OpenDirectory(directory.Path.RelativeZ);
        if (fd < 0)
        {
            return fd;
        }

        try
        {
            int result = FileState.Read(fd, out FileState state);
            directory.State = state;
            links.NotePrimary(directory.Path, state);
            directory.IsNew |= directory.Previous is SiteDirectory known && !known.State.IsSameFile(state);
            if (result == 0 && TryReadNames(directory, fd))
            {
                return 0;
            }

            directory.Names = null;
            observer?.Entering(fd, directory.Path.Bytes, state);
            return result == 0 ? ReadEntries(directory, fd) : result;
        }
        finally
        {
            _ = FileCalls.Close(fd);
        }
    }

    /// <summary>
    /// Throws <see cref="SiteException"/> if the count exceeds the limit. A full scan checks its own count, because symlinks between
    /// directories could keep it from ending; for a partial scan only the caller knows the entries of the other directories.
    /// </summary>
    public static void RequireEntries(SiteOptions options, long entryCount)
    {
        if (entryCount > options.EntriesMax)
        {
            throw new SiteException(
                $"The root '{options.Root}' has more directory entries than the limit, {options.EntriesMax}.",
                $"Raise it (--entries-max; {nameof(SiteOptions.EntriesMax)} in code), or look for symlinks between directories.");
        }
    }

    /// <summary>
    /// Checks only the changed names: a directory of 20,000 files costs these, not 20,000 statx. False, without effect, if an entry is not
    /// a plain file or directory: one that needs a note, a watch or another check needs a full listing.
    /// </summary>
    private bool TryReadNames(ListedDirectory directory, int fd)
    {
        if (directory.Names is null || !directory.CanCarryOver)
        {
            return false;
        }

        observer?.Keeping(directory.Path.Bytes);
        var found = new List<(SitePath Path, FileState State)>();
        foreach (byte[] name in directory.Names)
        {
            if (IsHidden(directory.Path, name))
            {
                continue;
            }

            if (!directory.Path.TryAppend(name, out SitePath path) || (options.SiteFiles && RuleFiles.IsName(path)))
            {
                return false;
            }

            int result = FileState.ReadEntry(fd, path.NameZ, out FileState state, out uint linkCount);
            if (result == -Errno.ENOENT)
            {
                continue;
            }

            // A write through one of several hard links is reported for that name only.
            bool isPlain = result == 0 && (state.Type == FileType.Regular ? linkCount == 1 : state.Type == FileType.Directory);
            if (!isPlain || options.PrivateFiles?.Contains(root, path, state) == true)
            {
                return false;
            }

            found.Add((path, state));
        }

        directory.CarryOver(
            found.Where(entry => entry.State.Type == FileType.Regular).Select(entry => new ListedFile(entry.Path, entry.State)));
        foreach ((SitePath path, FileState state) in found)
        {
            CountEntry(directory);
            if (state.Type == FileType.Directory)
            {
                Classify(directory, path, state, isSymlink: false);
            }
        }

        return true;
    }

    private int ReadEntries(ListedDirectory directory, int fd)
    {
        int recordBytes;
        while ((recordBytes = FileCalls.ReadDirectory(fd, _records)) > 0)
        {
            var entries = new DirectoryEntries(_records.AsSpan(0, recordBytes));
            while (entries.MoveNext())
            {
                Visit(directory, fd, entries.NameZ);
            }
        }

        directory.Order();
        return recordBytes;
    }

    private void Visit(ListedDirectory directory, int fd, ReadOnlySpan<byte> nameZ)
    {
        ReadOnlySpan<byte> name = nameZ[..^1];
        if (IsHidden(directory.Path, name))
        {
            return;
        }

        CountEntry(directory);
        if (!directory.Path.TryAppend(name, out SitePath path))
        {
            skipped.Note(directory, directory.Path, SkipReason.PathTooLong);
            return;
        }

        int result = FileState.ReadEntry(fd, nameZ, out FileState state, out _);
        bool isSymlink = result == 0 && state.Type == FileType.Symlink;
        if (isSymlink)
        {
            directory.HasSymlinks = true;
            observer?.MetSymlink(path.Bytes);
            result = root.Stat(path.RelativeZ, out state);
        }

        if (result < 0)
        {
            skipped.Note(directory, path, -result);
            return;
        }

        Classify(directory, path, state, isSymlink);
    }

    private void Classify(ListedDirectory directory, SitePath path, in FileState state, bool isSymlink)
    {
        switch (state.Type)
        {
            case FileType.Directory when isSymlink || directory.IsBelowLink || directory.Chain.Contains(state):
                links.Defer(directory, path, state, isSymlink);
                break;
            case FileType.Directory:
                _subdirectories.Add((path, state));
                break;
            case FileType.Regular when options.SiteFiles && RuleFiles.IsName(path):
                break;
            case FileType.Regular when options.PrivateFiles?.Contains(root, path, state) == true:
                skipped.Note(directory, path, SkipReason.Private);
                break;
            case FileType.Regular:
                directory.Files.Add(new ListedFile(path, state));
                break;
            default:
                skipped.Note(directory, path, SkipReason.NotRegular);
                break;
        }
    }

    private bool IsHidden(SitePath parent, ReadOnlySpan<byte> name) =>
        name[0] == '.'
        && options.Dotfiles == DotfilePolicy.HiddenExceptWellKnown
        && !(parent.IsRoot && name.SequenceEqual(".well-known"u8));

    private void CountEntry(ListedDirectory directory)
    {
        directory.EntryCount++;
        RequireEntries(options, ++_entryCount);
    }
}
