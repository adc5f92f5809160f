using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <content>Reads one directory: all its entries, or those reported as changed.</content>
internal sealed partial class SiteScanner
{
    private const int RecordsBytes = 64 * 1024;

    private readonly byte[] _records = new byte[RecordsBytes];

    private void List(ListedDirectory directory)
    {
        directory.CheckedAtNs = WallClock.NowNs;
        progress?.At(directory.Path, _entryCount);
        int fd = root.OpenDirectory(directory.Path.RelativeZ);
        if (fd < 0)
        {
            OnUnreadable(directory, -fd);
            return;
        }

        try
        {
            int result = FileState.Read(fd, out FileState state);
            directory.State = state;
            links.NotePrimary(directory.Path, state);
            directory.IsNew |= directory.Previous is SiteDirectory known && !known.State.IsSameFile(state);
            if (result == 0 && TryReadNames(directory, fd))
            {
                return;
            }

            directory.Names = null;
            observer?.Entering(fd, directory.Path.Bytes, state);
            if (result == 0)
            {
                result = ReadEntries(directory, fd);
            }

            if (result < 0)
            {
                OnUnreadable(directory, -result);
            }
        }
        finally
        {
            _ = FileCalls.Close(fd);
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
            if (!isPlain)
            {
                return false;
            }

            if (options.PrivateFiles?.Contains(root, path, state) == true)
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
            skipped.Note(directory, directory.Path.Bytes, SkipReason.PathTooLong);
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
            skipped.Note(directory, path.Bytes, -result);
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
                AddSubdirectory(directory, path, state);
                break;
            case FileType.Regular when options.SiteFiles && RuleFiles.IsName(path):
                break;
            case FileType.Regular when options.PrivateFiles?.Contains(root, path, state) == true:
                skipped.Note(directory, path.Bytes, SkipReason.KeptByServer);
                break;
            case FileType.Regular:
                directory.Files.Add(new ListedFile(path, state));
                break;
            default:
                skipped.Note(directory, path.Bytes, SkipReason.NotRegular);
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
        RequireEntries(++_entryCount);
    }
}
