using System.Collections.Concurrent;
using System.Diagnostics;
using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>
/// Threads that wait for disks, as io_uring's workers do: started on demand, up to four. All members but the threads' loop are for the
/// reactor's thread.
/// </summary>
internal sealed class UncachedReads(Action wake) : IDisposable
{
    /// <summary>The default number of a ring's workers.</summary>
    private const int ThreadsMax = 4;

    private readonly ConcurrentQueue<UncachedRead> _waiting = new();
    private readonly ConcurrentQueue<UncachedRead> _finished = new();
    private readonly SemaphoreSlim _announced = new(0);
    private readonly Dictionary<OperationToken, UncachedRead> _inFlight = [];
    private readonly Stack<UncachedRead> _spare = new();
    private readonly List<Thread> _threads = [];
    private volatile bool _isEnding;

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

    /// <summary>Cancels a read that no thread has begun.</summary>
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
/// A read that waits for its disk: submitted by the reactor, run by a thread of <see cref="UncachedReads"/>. Whichever moves it out of
/// <see cref="Waiting"/> owns it: the thread, which finishes it, or the reactor, which cancels it.
/// </summary>
internal sealed unsafe class UncachedRead
{
    private const int Waiting = 0;
    private const int Taken = 1;
    private const int Cancelled = 2;

    private int _state;
    private int _file;
    private byte* _destination;
    private int _bytes;
    private int _done;
    private long _offset;

    public OperationToken Token { get; private set; }

    /// <summary>Set by the thread that ran it.</summary>
    public int Result { get; private set; }

    public bool IsCancelled => Volatile.Read(ref _state) == Cancelled;

    /// <summary>Starts the read of <paramref name="work"/>, of which <paramref name="done"/> bytes are already read.</summary>
    public void Begin(in EpollWork work, int done)
    {
        Token = work.Token;
        _file = work.Fd;
        _destination = (byte*)work.Memory;
        _bytes = (int)work.Bytes;
        _done = done;
        _offset = work.Offset;
        Volatile.Write(ref _state, Waiting);
    }

    public bool TryCancel() => Interlocked.CompareExchange(ref _state, Cancelled, Waiting) == Waiting;

    public void Run()
    {
        if (Interlocked.CompareExchange(ref _state, Taken, Waiting) == Waiting)
        {
            Result = ReadRemaining(_file, _destination, _bytes, _offset, _done);
        }
    }

    /// <summary>Reads the remaining bytes, waiting for the disk: returns the bytes read in all, or -errno if there are none.</summary>
    public static int ReadRemaining(int file, byte* destination, int bytes, long offset, int done)
    {
        while (done < bytes)
        {
            nint read = FileCalls.PositionalRead(file, destination + done, (nuint)(bytes - done), offset + done);
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
