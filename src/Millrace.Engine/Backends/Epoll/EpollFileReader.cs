using System.Collections.Concurrent;
using System.Diagnostics;
using Millrace.Interop.Files;
using Millrace.Interop.Watching;
using Millrace.Interop;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>
/// Positional reads: done at once if the page cache has the bytes (0.4 us for 4 KiB, half of a ring's read), otherwise by a thread that
/// waits for the disk, as io_uring's workers do. All members but the threads' loop are for the reactor's thread.
/// </summary>
/// <remarks>
/// RWF_NOWAIT tells whether a read would wait for the disk. overlayfs, tmpfs and some others do not support it: there a local file is read
/// at once, and an uncached one blocks the reactor. (io_uring gives such reads to its workers, always: 5 us each, unless files are opened
/// with O_NONBLOCK.) On a network file system or FUSE the read goes to a thread, since the server may never respond.
/// </remarks>
internal sealed class EpollFileReader(Action wake) : IDisposable
{
    /// <summary>Started on demand; the default number of a ring's workers.</summary>
    private const int ThreadsMax = 4;

    private readonly ConcurrentQueue<UncachedRead> _waiting = new();
    private readonly ConcurrentQueue<UncachedRead> _finished = new();
    private readonly SemaphoreSlim _announced = new(0);
    private readonly Dictionary<OperationToken, UncachedRead> _inFlight = [];
    private readonly Stack<UncachedRead> _spare = new();
    private readonly List<Thread> _threads = [];
    private volatile bool _isEnding;

    /// <summary>Reads at once; false if a thread reads instead, whose result comes from <see cref="TryTakeFinished"/>.</summary>
    public unsafe bool TryRead(in EpollWork work, out int result)
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
        if (isUncached && TrySubmit(work, done))
        {
            result = 0;
            return false;
        }

        bool isEnded = read >= 0 || !(isUncached || IsUnsupported(read));
        result = isEnded
            ? (done > 0 ? done : (int)read)
            : UncachedRead.ReadRemaining(work, done);
        return true;
    }

    /// <summary>Gives a partly finished read to a thread; false if the process may not start one.</summary>
    public bool TrySubmit(in EpollWork work, int done)
    {
        if (_threads.Count < ThreadsMax && _threads.Count <= _inFlight.Count && !TryStartThread() && _threads.Count == 0)
        {
            return false;
        }

        UncachedRead read = _spare.TryPop(out UncachedRead? spare) ? spare : new UncachedRead();
        read.Begin(work, done);
        _inFlight.Add(work.Token, read);
        _waiting.Enqueue(read);
        _announced.Release();
        return true;
    }

    public bool TryCancel(OperationToken token) =>
        _inFlight.TryGetValue(token, out UncachedRead? read) && read.TryCancel() && _inFlight.Remove(token);

    public bool TryTakeFinished(out OperationToken token, out int result)
    {
        while (_finished.TryDequeue(out UncachedRead? read))
        {
            _spare.Push(read);
            if (!read.IsCancelled)
            {
                (token, result) = (read.Token, read.Result);
                _inFlight.Remove(token);
                return true;
            }
        }

        (token, result) = (default, 0);
        return false;
    }

    public void Dispose()
    {
        Debug.Assert(_inFlight.Count == 0, "A backend ends when nothing is in flight.");
        _isEnding = true;
        if (_threads.Count > 0)
        {
            _announced.Release(_threads.Count);
            _threads.ForEach(static thread => thread.Join());
        }

        _announced.Dispose();
    }

    private static bool IsUnsupported(nint read) => read is -Errno.EOPNOTSUPP or -Errno.ENOSYS;

    /// <summary>Whether the content is kept elsewhere: the same file systems for which inotify reports nothing.</summary>
    private static bool IsRemote(int file) =>
        WatchCalls.GetFileSystem(file, out FileSystemStatus status) >= 0 && Enum.IsDefined(status.Magic);

    private bool TryStartThread()
    {
        try
        {
            var thread = new Thread(Serve) { IsBackground = true, Name = "millrace-read" };
            thread.UnsafeStart();
            _threads.Add(thread);
            return true;
        }
        catch (OutOfMemoryException)
        {
            // A limit of the process refuses the thread. Existing threads, or the reactor itself, read instead.
            return false;
        }
    }

    private void Serve()
    {
        while (true)
        {
            _announced.Wait();
            if (_isEnding)
            {
                return;
            }

            if (_waiting.TryDequeue(out UncachedRead? read))
            {
                read.Run();
                _finished.Enqueue(read);
                wake();
            }
        }
    }
}

/// <summary>
/// A read that waits for its disk: submitted by the reactor, run by a thread of <see cref="EpollFileReader"/>. Whichever moves it out of
/// <see cref="Waiting"/> owns it: the thread, which finishes it, or the reactor, which cancels it.
/// </summary>
internal sealed class UncachedRead
{
    private const int Waiting = 0;
    private const int Taken = 1;
    private const int Cancelled = 2;

    private int _state;
    private EpollWork _work;
    private int _done;

    public OperationToken Token => _work.Token;

    /// <summary>Set by the thread that ran it.</summary>
    public int Result { get; private set; }

    public bool IsCancelled => Volatile.Read(ref _state) == Cancelled;

    /// <summary>Starts the read of <paramref name="work"/>, of which <paramref name="done"/> bytes are already read.</summary>
    public void Begin(in EpollWork work, int done)
    {
        _work = work;
        _done = done;
        Volatile.Write(ref _state, Waiting);
    }

    public bool TryCancel() => Interlocked.CompareExchange(ref _state, Cancelled, Waiting) == Waiting;

    public void Run()
    {
        if (Interlocked.CompareExchange(ref _state, Taken, Waiting) == Waiting)
        {
            Result = ReadRemaining(_work, _done);
        }
    }

    /// <summary>Reads the remaining bytes, waiting for the disk: returns the bytes read in all, or -errno if there are none.</summary>
    public static unsafe int ReadRemaining(in EpollWork work, int done)
    {
        int bytes = (int)work.Bytes;
        while (done < bytes)
        {
            nint read = FileCalls.PositionalRead(work.Fd, (byte*)work.Memory + done, (nuint)(bytes - done), work.Offset + done);
            if (read > 0)
            {
                done += (int)read;
            }
            else if (read != -Errno.EINTR)
            {
                return done > 0 ? done : (int)read;
            }
        }

        return done;
    }
}
