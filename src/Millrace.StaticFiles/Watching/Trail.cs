using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Watching;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Watching;

/// <summary>Is shown a directory before a name is looked up in it. False ends the trail.</summary>
internal delegate bool TrailMark(int directoryFd, ReadOnlySpan<byte> name);

/// <summary>
/// Follows a path as the kernel would, a component at a time, and shows each directory it passes: who watches these before the
/// look-up hears of everything that could lead the path elsewhere. Owns the one descriptor it stands on.
/// </summary>
/// <remarks>
/// What it finds is never served, so a rename that races with a ".." can do no worse than have a directory watched for nothing.
/// </remarks>
internal sealed class Trail : IDisposable
{
    /// <summary>The kernel's own limits: MAXSYMLINKS, PATH_MAX and NAME_MAX.</summary>
    private const int LinksMax = 40;
    private const int PathBytesMax = 4096;
    private const int NameBytesMax = 255;

    private readonly TrailMark _mark;

    /// <summary>The directory that the path must not leave, as RESOLVE_BENEATH has it; null where it may go anywhere.</summary>
    private readonly FileState? _ceiling;

    private int _fd;
    private byte[] _rest;
    private int _linkCount;

    private Trail(int fd, ReadOnlySpan<byte> path, FileState? ceiling, TrailMark mark)
    {
        _fd = fd;
        _rest = path.ToArray();
        _ceiling = ceiling;
        _mark = mark;
    }

    /// <summary>
    /// Follows a path from a directory, whose descriptor it closes: 0, or -errno where the path ends early: it leads to nothing, to a
    /// circle, out of the ceiling, or its mark was refused (-ECANCELED).
    /// </summary>
    public static int Follow(int startFd, ReadOnlySpan<byte> path, FileState? ceiling, TrailMark mark)
    {
        using var trail = new Trail(startFd, path, ceiling, mark);
        return trail.Run();
    }

    public void Dispose() => _ = FileCalls.Close(_fd);

    private int Run()
    {
        int result = 0;
        while (result == 0 && TryTakeName(out ReadOnlySpan<byte> name))
        {
            if (name.SequenceEqual(".."u8))
            {
                result = Rise();
            }
            else if (!name.SequenceEqual("."u8))
            {
                result = Pass(name);
            }
        }

        return result;
    }

    private bool TryTakeName(out ReadOnlySpan<byte> name)
    {
        ReadOnlySpan<byte> rest = _rest.AsSpan().TrimStart((byte)'/');
        int end = rest.IndexOf((byte)'/');
        name = end < 0 ? rest : rest[..end];
        _rest = rest[name.Length..].ToArray();
        return !name.IsEmpty;
    }

    private int Rise()
    {
        if (_ceiling is FileState ceiling)
        {
            int result = FileState.Read(_fd, out FileState here);
            if (result < 0 || here.IsSameFile(ceiling))
            {
                return Math.Min(result, -Errno.EXDEV);
            }
        }

        return Step("..\0"u8);
    }

    private int Pass(ReadOnlySpan<byte> name)
    {
        if (name.Length > NameBytesMax)
        {
            return -Errno.ENAMETOOLONG;
        }

        if (!_mark(_fd, name))
        {
            return -Errno.ECANCELED;
        }

        Span<byte> nameZ = stackalloc byte[NameBytesMax + 1];
        name.CopyTo(nameZ);
        nameZ[name.Length] = 0;
        nameZ = nameZ[..(name.Length + 1)];
        Span<byte> target = stackalloc byte[PathBytesMax];
        int targetBytes = WatchCalls.ReadLink(_fd, nameZ, target);
        return targetBytes switch
        {
            // No symlink. What is last has been watched by its name; nothing is looked up in it.
            -Errno.EINVAL => _rest.Length == 0 ? 0 : Step(nameZ),
            < 0 => targetBytes,
            _ => Divert(target[..targetBytes]),
        };
    }

    private int Divert(ReadOnlySpan<byte> target)
    {
        if (++_linkCount > LinksMax || target.Length + _rest.Length >= PathBytesMax)
        {
            return -Errno.ELOOP;
        }

        bool isAbsolute = target[0] == '/';
        if (isAbsolute && _ceiling is not null)
        {
            return -Errno.EXDEV;
        }

        _rest = [.. target, .. _rest];
        return isAbsolute ? Step("/\0"u8) : 0;
    }

    private int Step(ReadOnlySpan<byte> pathZ)
    {
        int fd = FileCalls.OpenAt2(_fd, pathZ, new OpenHow { Flags = Standpoint | OpenFlags.NoFollow });
        if (fd < 0)
        {
            return fd;
        }

        _ = FileCalls.Close(_fd);
        _fd = fd;
        return 0;
    }

    /// <summary>To stand on a directory takes no right to read it.</summary>
    public static ulong Standpoint => OpenFlags.Path | OpenFlags.Directory | OpenFlags.CloseOnExec;
}
