using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// The root of a site, held open by a descriptor. Everything below is opened through it by its path from the root, so that the kernel keeps
/// every component, including symlinks, inside. (Opened relative to its own directory, a symlink to <c>../shared/x</c> would count as an
/// escape.) Freed with the last snapshot that contains it; any thread may open.
/// </summary>
internal sealed class RootDirectory(int fd, byte[] nameZ) : IDisposable
{
    private const ResolveFlags Confined = ResolveFlags.Beneath | ResolveFlags.NoMagicLinks;

    /// <summary>
    /// A rename racing with ".." gives EAGAIN, a signal on a network file system EINTR: both are transient. The limit prevents an endless
    /// loop.
    /// </summary>
    private const int AttemptsMax = 16;

    /// <summary>The root's state when it was opened.</summary>
    public FileState State { get; private set; }

    /// <summary>
    /// Opens a root by its name and follows symlinks: the operator may point it anywhere. Throws <see cref="SiteException"/>.
    /// </summary>
    public static RootDirectory Open(string root)
    {
        byte[] pathZ = CString.Of(root);
        var how = new OpenHow { Flags = OpenFlags.ReadOnly | OpenFlags.Directory | OpenFlags.CloseOnExec };
        int rootFd = Retry(FileCalls.WorkingDirectory, pathZ, how);
        if (rootFd < 0)
        {
            throw OpenError(root, -rootFd);
        }

        var opened = new RootDirectory(rootFd, pathZ);
        // A root that may be read but not searched opens, and then hides every file.
        int result = opened.Stat(".\0"u8, out FileState state);
        if (result < 0)
        {
            opened.Dispose();
            throw OpenError(root, -result);
        }

        opened.State = state;
        return opened;
    }

    /// <summary>
    /// A descriptor to read from, or -errno. A FIFO does not block (O_NONBLOCK); the caller checks that it is a regular file.
    /// </summary>
    public int OpenFile(ReadOnlySpan<byte> relativePathZ) =>
        Open(relativePathZ, OpenFlags.ReadOnly | OpenFlags.NonBlock | OpenFlags.CloseOnExec);

    /// <summary>A descriptor to list, or -errno.</summary>
    public int OpenDirectory(ReadOnlySpan<byte> relativePathZ) =>
        Open(relativePathZ, OpenFlags.ReadOnly | OpenFlags.Directory | OpenFlags.CloseOnExec);

    /// <summary>
    /// The state of what a path leads to, without opening it for I/O (O_PATH): no driver runs, and no FIFO writer wakes. 0 or -errno.
    /// </summary>
    public int Stat(ReadOnlySpan<byte> relativePathZ, out FileState state) =>
        FileState.ReadAndClose(Open(relativePathZ, OpenFlags.Path | OpenFlags.CloseOnExec), out state);

    /// <summary>The state of what the root's name leads to now, possibly another directory. 0 or -errno.</summary>
    public int StatByName(out FileState state) => FileState.ReadPath(nameZ, out state);

    public void Dispose() => _ = FileCalls.Close(fd);

    private int Open(ReadOnlySpan<byte> relativePathZ, ulong flags) =>
        Retry(fd, relativePathZ, new OpenHow { Flags = flags, Resolve = Confined });

    private static int Retry(int directoryFd, ReadOnlySpan<byte> pathZ, in OpenHow how)
    {
        int result = -Errno.EAGAIN;
        for (int i = 0; i < AttemptsMax && result is -Errno.EAGAIN or -Errno.EINTR; i++)
        {
            result = FileCalls.OpenAt2(directoryFd, pathZ, how);
        }

        return result;
    }

    private static SiteException OpenError(string root, int error) => error switch
    {
        Errno.ENOENT => new($"The root '{root}' does not exist.", "Create it or name another directory."),
        Errno.ENOTDIR => new($"The root '{root}' is not a directory.", "Name the directory that holds the files."),
        Errno.EACCES => new(
            $"The root '{root}' cannot be read by this user.", "Grant read and search permission on it and its parents.")
        {
            IsMistake = false,
        },
        Errno.ELOOP => new($"The root '{root}' is a symlink that leads to itself.", "Fix the symlink or name another directory."),
        Errno.ENOSYS or Errno.EPERM => new(
            "This system refuses openat2(2), which keeps the site inside its root.",
            "Use Linux 5.6 or later, and a seccomp profile that allows openat2.")
        {
            IsMistake = false,
        },
        _ => new(
            $"The root '{root}' cannot be opened: {Errno.Describe(error)}.",
            FileProblem.RemedyOf(error, "Check the path and its file system."))
        {
            IsMistake = error == Errno.ENAMETOOLONG,
        },
    };
}
