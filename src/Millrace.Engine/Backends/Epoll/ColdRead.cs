using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>
/// A read that has to wait for its disk: asked for by the reactor, done by a thread of <see cref="ColdReads"/>. Who takes it out of
/// <see cref="Waiting"/> owns it: the thread, which finishes it, or the reactor, which calls it off.
/// </summary>
internal sealed unsafe class ColdRead
{
    private const int Waiting = 0;
    private const int Taken = 1;
    private const int CalledOff = 2;

    private int _state;
    private int _file;
    private byte* _destination;
    private int _bytes;
    private int _done;
    private long _offset;

    public OperationToken Token { get; private set; }

    /// <summary>Set by the thread that ran it.</summary>
    public int Result { get; private set; }

    public bool IsCalledOff => Volatile.Read(ref _state) == CalledOff;

    /// <summary>Of the read that <paramref name="work"/> asks for, so many bytes were there at once.</summary>
    public void Begin(in Work work, int done)
    {
        Token = work.Token;
        _file = work.Fd;
        _destination = (byte*)work.Memory;
        _bytes = (int)work.Bytes;
        _done = done;
        _offset = work.Offset;
        Volatile.Write(ref _state, Waiting);
    }

    public bool TryCallOff() => Interlocked.CompareExchange(ref _state, CalledOff, Waiting) == Waiting;

    public void Run()
    {
        if (Interlocked.CompareExchange(ref _state, Taken, Waiting) == Waiting)
        {
            Result = ReadOn(_file, _destination, _bytes, _offset, _done);
        }
    }

    /// <summary>Reads what is left of a read, waiting for the disk: the bytes read in all, or -errno where there are none.</summary>
    public static int ReadOn(int file, byte* destination, int bytes, long offset, int done)
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
