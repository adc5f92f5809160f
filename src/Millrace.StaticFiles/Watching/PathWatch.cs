using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Watching;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Watching;

/// <summary>Called with a directory before a name is looked up in it. False ends the walk.</summary>
internal delegate bool PathWatchCallback(int directoryFd, ReadOnlySpan<byte> name);

/// <summary>
/// Follows a path like the kernel, one component at a time, and reports each directory before the lookup: a watch added then sees every
/// change that could lead the path elsewhere. Owns the descriptor of the current directory.
/// </summary>
/// <remarks>What it finds is never served, so a rename that races with ".." can at worst cause a useless watch.</remarks>
internal sealed class PathWatch(int startFd, byte[] path, FileState? boundary, PathWatchCallback onLookup) : IDisposable
{
    private int _fd = startFd;
    private byte[] _remaining = path;
    private int _linkCount;

    /// <summary>
    /// Follows a path from a directory, whose descriptor it closes, and not beyond the boundary (RESOLVE_BENEATH; null for no limit). 0, or
    /// -errno if the path ends early: it leads nowhere, loops, leaves the boundary, or the callback returned false (-ECANCELED).
    /// </summary>
    public static int Follow(int startFd, ReadOnlySpan<byte> path, FileState? boundary, PathWatchCallback onLookup)
    {
        using var watch = new PathWatch(startFd, path.ToArray(), boundary, onLookup);
        return watch.Run();
    }

    public void Dispose() => _ = FileCalls.Close(_fd);

    private int Run()
    {
        int result = 0;
        while (result == 0 && TryTakeName(out ReadOnlySpan<byte> name))
        {
            if (name.SequenceEqual(".."u8))
            {
                result = StepUp();
            }
            else if (!name.SequenceEqual("."u8))
            {
                result = LookUp(name);
            }
        }

        return result;
    }

    private bool TryTakeName(out ReadOnlySpan<byte> name)
    {
        ReadOnlySpan<byte> remaining = _remaining.AsSpan().TrimStart((byte)'/');
        name = SitePath.FirstSegment(remaining);
        _remaining = remaining[name.Length..].ToArray();
        return !name.IsEmpty;
    }

    private int StepUp()
    {
        if (boundary is FileState top)
        {
            int result = FileState.Read(_fd, out FileState current);
            if (result < 0 || current.IsSameFile(top))
            {
                return Math.Min(result, -Errno.EXDEV);
            }
        }

        return Step("..\0"u8);
    }

    private int LookUp(ReadOnlySpan<byte> name)
    {
        if (name.Length > SitePath.NameBytesMax)
        {
            return -Errno.ENAMETOOLONG;
        }

        if (!onLookup(_fd, name))
        {
            return -Errno.ECANCELED;
        }

        Span<byte> nameZ = stackalloc byte[SitePath.NameBytesMax + 1];
        name.CopyTo(nameZ);
        nameZ[name.Length] = 0;
        nameZ = nameZ[..(name.Length + 1)];
        Span<byte> target = stackalloc byte[SitePath.BytesMax];
        int targetBytes = WatchCalls.ReadLink(_fd, nameZ, target);
        return targetBytes switch
        {
            // Not a symlink. The last name is watched in its directory; nothing is looked up in it.
            -Errno.EINVAL => _remaining.Length == 0 ? 0 : Step(nameZ),
            < 0 => targetBytes,
            _ => FollowLink(target[..targetBytes]),
        };
    }

    private int FollowLink(ReadOnlySpan<byte> target)
    {
        if (++_linkCount > SitePath.SymlinksMax || target.Length + _remaining.Length >= SitePath.BytesMax)
        {
            return -Errno.ELOOP;
        }

        bool isAbsolute = target[0] == '/';
        if (isAbsolute && boundary is not null)
        {
            return -Errno.EXDEV;
        }

        _remaining = [.. target, .. _remaining];
        return isAbsolute ? Step("/\0"u8) : 0;
    }

    private int Step(ReadOnlySpan<byte> pathZ)
    {
        int fd = FileCalls.OpenAt2(_fd, pathZ, new OpenHow { Flags = PathFlags | OpenFlags.NoFollow });
        if (fd < 0)
        {
            return fd;
        }

        _ = FileCalls.Close(_fd);
        _fd = fd;
        return 0;
    }

    /// <summary>Flags for a directory used only for lookups, which needs no read permission.</summary>
    public static ulong PathFlags => OpenFlags.Path | OpenFlags.Directory | OpenFlags.CloseOnExec;
}
