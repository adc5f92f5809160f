using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Watching;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>
/// Positional reads: done at once if the page cache has the bytes (0.4 us for 4 KiB, half of a ring's read), otherwise by a thread.
/// </summary>
/// <remarks>
/// RWF_NOWAIT tells whether a read would wait for the disk. overlayfs, tmpfs and some others do not support it: there a local file is read
/// at once, and an uncached one blocks the reactor. (io_uring gives such reads to its workers, always: 5 us each, unless files are opened
/// with O_NONBLOCK.) On a network file system or FUSE the read goes to a thread, since the server may never respond.
/// </remarks>
internal sealed unsafe class EpollFileReader(Action wake) : IDisposable
{
    private readonly UncachedReads _uncached = new(wake);

    /// <summary>Reads at once; false if a thread reads instead, whose result comes from <see cref="TryTakeFinished"/>.</summary>
    public bool TryRead(in EpollWork work, out int result)
    {
        int bytes = (int)work.Bytes;
        int done = 0;
        nint read;
        do
        {
            read = FileCalls.PositionalReadCached(work.Fd, (byte*)work.Memory + done, (nuint)(bytes - done), work.Offset + done);
            done += (int)nint.Max(read, 0);
        }
        while (done < bytes && (read > 0 || read == -Errno.EINTR));

        bool isUncached = read == -Errno.EAGAIN || (IsUnsupported(read) && IsRemote(work.Fd));
        if (isUncached && _uncached.TrySubmit(work, done))
        {
            result = 0;
            return false;
        }

        bool isEnded = read >= 0 || !(isUncached || IsUnsupported(read));
        result = isEnded
            ? (done > 0 ? done : (int)read)
            : UncachedRead.ReadRemaining(work.Fd, (byte*)work.Memory, bytes, work.Offset, done);
        return true;
    }

    public bool TryCancel(OperationToken token) => _uncached.TryCancel(token);

    public bool TryTakeFinished(out OperationToken token, out int result) => _uncached.TryTakeFinished(out token, out result);

    public void Dispose() => _uncached.Dispose();

    private static bool IsUnsupported(nint read) => read is -Errno.EOPNOTSUPP or -Errno.ENOSYS;

    /// <summary>Whether the content is kept elsewhere: the same file systems for which inotify reports nothing.</summary>
    private static bool IsRemote(int file) =>
        WatchCalls.GetFileSystem(file, out FileSystemStatus status) >= 0 && Enum.IsDefined(status.Magic);
}
