using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Engine.Backends.Epoll;

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
