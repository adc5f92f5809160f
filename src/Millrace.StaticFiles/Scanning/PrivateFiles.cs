using Microsoft.Win32.SafeHandles;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// The server's own files (keys, passwords, configuration, logs), which no site serves under any name. They are identified by device and
/// inode. A file stays private after another file took its path; a descriptor pins it, so that its inode is not reused meanwhile. Any
/// thread.
/// </summary>
internal sealed class PrivateFiles : IDisposable
{
    private readonly Lock _changeLock = new();
    private readonly HashSet<string> _paths = new(StringComparer.Ordinal);
    private readonly List<(string Path, FileState State, SafeFileHandle Pin)> _pinned = [];
    private volatile FileState[] _known = [];
    private volatile bool _hasPaths;
    private long _checkedAtNs;

    /// <summary>Adds these files. Paths that do not exist yet are checked again.</summary>
    public void Add(IEnumerable<string> paths)
    {
        lock (_changeLock)
        {
            foreach (string path in paths.Where(static path => path.Length > 0))
            {
                _paths.Add(Path.GetFullPath(path));
            }

            _hasPaths = _paths.Count > 0;
            Check();
        }
    }

    /// <summary>Replaces the set of files.</summary>
    public void Replace(IEnumerable<string> paths)
    {
        lock (_changeLock)
        {
            _paths.Clear();
            Add(paths);
            foreach ((_, _, SafeFileHandle pin) in _pinned.Where(file => !_paths.Contains(file.Path)))
            {
                pin.Dispose();
            }

            _pinned.RemoveAll(file => !_paths.Contains(file.Path));
            _known = [.. _pinned.Select(static file => file.State)];
        }
    }

    /// <summary>Checks where the paths lead now.</summary>
    public void Refresh()
    {
        if (_hasPaths)
        {
            lock (_changeLock)
            {
                Check();
            }
        }
    }

    /// <summary>Whether a file is private. A file that was just put at one of the paths is found here first.</summary>
    public bool Contains(in FileState file)
    {
        if (!_hasPaths || file.Type != FileType.Regular)
        {
            return false;
        }

        // A rename sets the change time.
        if (!file.IsSettledAt(Volatile.Read(ref _checkedAtNs)))
        {
            Refresh();
        }

        foreach (ref readonly FileState known in _known.AsSpan())
        {
            if (known.IsSameFile(file))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>Whether a directory entry is private, or a coded copy of a private file: <c>a.key.gz</c> beside <c>a.key</c>.</summary>
    public bool Contains(RootDirectory root, SitePath path, in FileState file)
    {
        if (!_hasPaths)
        {
            return false;
        }

        if (Contains(file))
        {
            return true;
        }

        if (!PrecompressedSiblings.TryParse(path.Name, out ReadOnlySpan<byte> originalName, out _))
        {
            return false;
        }

        ReadOnlySpan<byte> pathZ = path.RelativeZ;
        return root.Stat([.. pathZ[..^(path.Name.Length - originalName.Length + 1)], 0], out FileState original) == 0 && Contains(original);
    }

    public void Dispose()
    {
        lock (_changeLock)
        {
            _pinned.ForEach(static file => file.Pin.Dispose());
            _pinned.Clear();
            _paths.Clear();
            _hasPaths = false;
            _known = [];
        }
    }

    private void Check()
    {
        long nowNs = WallClock.NowNs;
        foreach (string path in _paths)
        {
            Pin(path);
        }

        // A file without a name is unreachable, and its disk space must be released.
        for (int i = _pinned.Count - 1; i >= 0; i--)
        {
            if (FileCalls.StatDescriptor(DescriptorOf(_pinned[i].Pin), StatxMask.LinkCount, out Statx now) == 0 && now.LinkCount == 0)
            {
                _pinned[i].Pin.Dispose();
                _pinned.RemoveAt(i);
            }
        }

        _known = [.. _pinned.Select(static file => file.State)];
        Volatile.Write(ref _checkedAtNs, nowNs);
    }

    /// <summary>A path that cannot be followed any more (the process may have changed its user) keeps the file it led to.</summary>
    private void Pin(string path)
    {
        int fd = FileContent.Open(CString.Of(path), OpenFlags.Path);
        if (fd < 0)
        {
            return;
        }

        var pin = new SafeFileHandle(fd, ownsHandle: true);
        if (FileState.Read(fd, out FileState state) == 0 && state.Type == FileType.Regular
            && !_pinned.Exists(known => known.State.IsSameFile(state)))
        {
            _pinned.Add((path, state, pin));
        }
        else
        {
            pin.Dispose();
        }
    }

    private static int DescriptorOf(SafeFileHandle handle) => (int)handle.DangerousGetHandle();
}
