using System.Buffers.Text;
using System.Diagnostics;
using Millrace.Interop;
using Millrace.Interop.Sockets;
using Millrace.Interop.Watching;

namespace Millrace.StaticFiles.Watching;

/// <summary>An inotify instance and the eventfd that wakes its reader. Owns both.</summary>
internal sealed class Inotify(int inotifyFd, int wakeFd) : IWatchSource
{
    /// <summary>
    /// 0 or -errno. EMFILE has two causes, the user's limit of instances and the process's limit of descriptors:
    /// <paramref name="lacksInstances"/> is true for the first.
    /// </summary>
    public static int TryCreate(out Inotify? created, out bool lacksInstances)
    {
        created = null;
        lacksInstances = false;
        int eventFd = SocketCalls.EventDescriptor();
        if (eventFd < 0)
        {
            return eventFd;
        }

        int fd = WatchCalls.Create();
        if (fd < 0)
        {
            int other = SocketCalls.Duplicate(eventFd);
            lacksInstances = fd == -Errno.EMFILE && other >= 0;
            if (other >= 0)
            {
                _ = SocketCalls.Close(other);
            }

            _ = SocketCalls.Close(eventFd);
            return fd;
        }

        created = new Inotify(fd, eventFd);
        return 0;
    }

    /// <summary>
    /// Adds the watch by the descriptor's entry in /proc, so that it applies to this directory and not to what its name leads to by now.
    /// </summary>
    public int Add(int directoryFd, WatchMask mask)
    {
        Debug.Assert(directoryFd >= 0, "an open directory is watched");
        ReadOnlySpan<byte> folder = "/proc/self/fd/"u8;
        Span<byte> pathZ = stackalloc byte[folder.Length + 11];
        folder.CopyTo(pathZ);
        _ = Utf8Formatter.TryFormat(directoryFd, pathZ[folder.Length..], out int digits);
        pathZ[folder.Length + digits] = 0;
        return WatchCalls.AddWatch(inotifyFd, pathZ[..(folder.Length + digits + 1)], mask);
    }

    public void Remove(int watch)
    {
        int result = WatchCalls.RemoveWatch(inotifyFd, watch);
        // The kernel may have removed the watch just before, with its directory.
        Debug.Assert(result is 0 or -Errno.EINVAL, "a watch is ended by its number");
    }

    public void Wait(int timeoutMs) =>
        Poll([Readable(wakeFd), Readable(inotifyFd)], timeoutMs);

    public void Pause(int durationMs) => Poll([Readable(wakeFd)], durationMs);

    public void Wake() => _ = SocketCalls.SignalEvent(wakeFd);

    public int Read(Span<byte> records)
    {
        int result = WatchCalls.Read(inotifyFd, records);
        ThrowUnless(result > 0 || result is -Errno.EAGAIN or -Errno.EINTR, "read", result);
        return Math.Max(result, 0);
    }

    public void Dispose()
    {
        _ = SocketCalls.Close(inotifyFd);
        _ = SocketCalls.Close(wakeFd);
    }

    /// <summary>Polls; the first request must be that of the eventfd.</summary>
    private void Poll(Span<PollRequest> requests, int timeoutMs)
    {
        int result = WatchCalls.Poll(requests, timeoutMs);
        // A signal ends a wait like a wake does: the caller checks and waits again.
        ThrowUnless(result >= 0 || result == -Errno.EINTR, "poll", result);
        if (result > 0 && requests[0].ReturnedEvents != 0)
        {
            Span<byte> count = stackalloc byte[sizeof(ulong)];
            result = WatchCalls.Read(wakeFd, count);
            ThrowUnless(result == count.Length, "read", result);
        }
    }

    private static PollRequest Readable(int fd) => new() { Fd = fd, Events = PollRequest.Readable };

    private static void ThrowUnless(bool holds, string call, int result)
    {
        if (!holds)
        {
            throw new IOException($"{call} on inotify failed: {Errno.Describe(result)}.");
        }
    }
}

/// <summary>
/// The source of change records: the kernel, or a test double that injects faults. One thread waits and reads; any thread may add and
/// remove, but not after <see cref="IDisposable.Dispose"/>.
/// </summary>
internal interface IWatchSource : IDisposable
{
    /// <summary>Adds a watch; the same directory gives the same watch. The watch or -errno.</summary>
    int Add(int directoryFd, WatchMask mask);

    void Remove(int watch);

    /// <summary>Waits for records, for <see cref="Wake"/>, or for the timeout (a negative one is infinite).</summary>
    void Wait(int timeoutMs);

    /// <summary>Waits for the duration or for <see cref="Wake"/>; records queue up meanwhile.</summary>
    void Pause(int durationMs);

    /// <summary>Ends a wait or a pause, the current one or the next. Any thread.</summary>
    void Wake();

    /// <summary>Reads the available records: their bytes, 0 if there are none.</summary>
    int Read(Span<byte> records);
}
