using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Watching;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>
/// Positional reads, done at once where the page cache has the bytes (0.4 us for 4 KiB, half of what a ring's read takes) and by a
/// thread where a disk must be waited for.
/// </summary>
/// <remarks>
/// Whether it must is asked with RWF_NOWAIT, which overlayfs, tmpfs and some others do not know: there a local file is read at once
/// whatever it takes, and a cold one keeps the reactor waiting for its disk. (io_uring hands such reads to its workers, always: 5 us
/// each, if files are not opened with O_NONBLOCK.) One of a network file system, or of FUSE, goes to a thread, since its server may
/// never answer.
/// </remarks>
internal sealed unsafe class FileReads(Action wake) : IDisposable
{
    private readonly ColdReads _cold = new(wake);

    /// <summary>Reads at once, or hands over to a thread: false, and the result is taken later.</summary>
    public bool TryRead(in Work work, out int result)
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

        bool isCold = read == -Errno.EAGAIN || (IsUnsupported(read) && IsRemote(work.Fd));
        if (isCold && _cold.TrySubmit(work, done))
        {
            result = 0;
            return false;
        }

        bool isEnded = read >= 0 || !(isCold || IsUnsupported(read));
        result = isEnded ? (done > 0 ? done : (int)read) : ColdRead.ReadOn(work.Fd, (byte*)work.Memory, bytes, work.Offset, done);
        return true;
    }

    public bool TryCancel(OperationToken token) => _cold.TryCancel(token);

    public bool TryTakeFinished(out OperationToken token, out int result) => _cold.TryTakeFinished(out token, out result);

    public void Dispose() => _cold.Dispose();

    private static bool IsUnsupported(nint read) => read is -Errno.EOPNOTSUPP or -Errno.ENOSYS;

    /// <summary>Whether it is one of those whose content somebody else keeps: the ones that inotify is silent about too.</summary>
    private static bool IsRemote(int file) =>
        WatchCalls.GetFileSystem(file, out FileSystemStatus status) >= 0 && Enum.IsDefined(status.Magic);
}
