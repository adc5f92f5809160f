using Millrace.Engine;
using Millrace.Interop;
using Millrace.Server.AccessLog.Sinks;

namespace Millrace.Server.AccessLog;

/// <summary>
/// The thread that brings lines from the reactors' rings to where they are kept. It alone touches that, so it alone waits for it. It
/// sleeps while there are no lines; the first that comes wakes it, and it gathers those of the next moment before it writes.
/// </summary>
/// <remarks>
/// What has a fault (a full disk, a log daemon that is gone) is tried again every second, at the very byte where it failed, so that no line
/// is torn or written twice; meanwhile the rings fill up, and then lines are dropped. Each fault is counted, and logged once in a while.
/// </remarks>
internal sealed class LineWriter : IDisposable
{
    /// <summary>Long enough that a busy server writes some thousand lines at a time, short enough for who looks on.</summary>
    private const int GatherMs = 20;

    private const int RetryMs = 1_000;

    private readonly ILogSink _sink;
    private readonly AccessLogNotices _notices;
    private readonly LineRing[] _rings;
    private readonly AutoResetEvent _bell = new(initialState: false);
    private readonly Thread _thread;
    private readonly byte[] _batch;
    private readonly TimeSpan _patience;
    private readonly LinePace _faultLines = new();

    private int _batchStart;
    private int _batchEnd;
    private int _sleeps;
    private bool _reopenIsAsked;
    private bool _endIsAsked;
    private int _retryMs;
    private long _faults;
    private long _writtenBytes;
    private long _faultsInARow;

    /// <param name="sink">Open already; the writer's from now on.</param>
    /// <param name="notices">What people are told.</param>
    /// <param name="rings">Where lines come from.</param>
    /// <param name="lineBytesMax">No line is longer.</param>
    /// <param name="patience">How long the end waits while nothing at all is taken.</param>
    public LineWriter(ILogSink sink, AccessLogNotices notices, LineRing[] rings, int lineBytesMax, TimeSpan patience)
    {
        _patience = patience;
        _sink = sink;
        _notices = notices;
        _rings = rings;
        _batch = new byte[lineBytesMax];
        _thread = new Thread(Run) { IsBackground = true, Name = "millrace-log" };
        _thread.UnsafeStart();
    }

    /// <summary>Attempts to write or to open that failed. Any thread.</summary>
    public long Faults => Interlocked.Read(ref _faults);

    /// <summary>Lines were added to a ring. Any thread; costs next to nothing while the writer is awake.</summary>
    public void Notify()
    {
        // The line must be seen by a writer that has said that it sleeps, or that must be seen here.
        Interlocked.MemoryBarrier();
        if (Volatile.Read(ref _sleeps) != 0 && Interlocked.Exchange(ref _sleeps, 0) != 0)
        {
            _bell.Set();
        }
    }

    /// <summary>A ring fills up: what is there is written now. Any thread.</summary>
    public void Hurry() => _bell.Set();

    /// <summary>Has the log opened anew under its name. Any thread; does not wait for it.</summary>
    public void Reopen()
    {
        Volatile.Write(ref _reopenIsAsked, true);
        _bell.Set();
    }

    /// <summary>Writes what there is, and ends. Nobody may add lines any more.</summary>
    public void Dispose()
    {
        Volatile.Write(ref _endIsAsked, true);
        _bell.Set();
        long before;
        do
        {
            before = Interlocked.Read(ref _writtenBytes);
            if (_thread.Join(_patience))
            {
                _bell.Dispose();
                return;
            }
        }
        while (Interlocked.Read(ref _writtenBytes) > before);

        // It is stuck in a write, or at a fault: the process ends without it.
        _notices.Abandoned(_sink.Name);
    }

    private void Run()
    {
        while (true)
        {
            Sleep();
            bool isLast = Volatile.Read(ref _endIsAsked);
            ReopenIfAsked();
            bool isDone = TryWriteAll();
            if (isLast && isDone)
            {
                _sink.Dispose();
                return;
            }
        }
    }

    private void Sleep()
    {
        if (_retryMs > 0)
        {
            _bell.WaitOne(_retryMs);
            return;
        }

        Interlocked.Exchange(ref _sleeps, 1);
        if (!HasLines && !HasRequest)
        {
            _bell.WaitOne();
        }

        Volatile.Write(ref _sleeps, 0);
        if (!HasRequest)
        {
            _bell.WaitOne(GatherMs);
        }
    }

    private bool HasLines => Array.Exists(_rings, static ring => !ring.IsEmpty);

    private bool HasRequest => Volatile.Read(ref _endIsAsked) || Volatile.Read(ref _reopenIsAsked);

    private void ReopenIfAsked()
    {
        if (!Volatile.Read(ref _reopenIsAsked))
        {
            return;
        }

        Volatile.Write(ref _reopenIsAsked, false);
        int result = _sink.Open();
        if (result < 0)
        {
            Volatile.Write(ref _reopenIsAsked, true);
            _retryMs = RetryMs;
            NoteFault(result, _notices.NotReopened);
            return;
        }

        // What was written of a line stays in the old file: in the new one it begins anew.
        _batchStart = _batch.AsSpan(0, _batchStart).LastIndexOf((byte)'\n') + 1;
        _notices.Reopened(_sink.Name);
    }

    /// <summary>
    /// A batch of each ring in turn, again while there is much: no reactor's lines wait for another's to end, and a few that have come
    /// meanwhile are gathered first. False where something is left: by them, by what cannot be written now, or for a log that is opened
    /// anew before.
    /// </summary>
    private bool TryWriteAll()
    {
        if (!TryWriteBatch())
        {
            return false;
        }

        bool isFull;
        do
        {
            if (_retryMs == 0 && Volatile.Read(ref _reopenIsAsked))
            {
                return false;
            }

            isFull = false;
            foreach (LineRing ring in _rings)
            {
                _batchStart = 0;
                _batchEnd = ring.Take(_batch);
                isFull |= _batchEnd >= _batch.Length / 2;
                if (!TryWriteBatch())
                {
                    return false;
                }
            }
        }
        while (isFull);

        _batchStart = _batchEnd = 0;
        return !HasLines;
    }

    private bool TryWriteBatch()
    {
        while (_batchStart < _batchEnd)
        {
            int result = _sink.Write(_batch.AsSpan(_batchStart, _batchEnd - _batchStart));
            if (result == -Errno.EAGAIN)
            {
                // A pipe that does not let its writers wait: its reader is slow, and nothing is wrong.
                _retryMs = GatherMs;
                return false;
            }

            if (result <= 0 && result != -Errno.EINTR)
            {
                _retryMs = RetryMs;
                NoteFault(result, _notices.Failed);
                return false;
            }

            _batchStart += Math.Max(0, result);
            Interlocked.Add(ref _writtenBytes, Math.Max(0, result));
        }

        EndFault();
        return true;
    }

    private void EndFault()
    {
        if (Volatile.Read(ref _reopenIsAsked))
        {
            // That one goes on.
            return;
        }

        _retryMs = 0;
        if (_faultsInARow > 0)
        {
            _notices.Recovered(_sink.Name, _faultsInARow);
            _faultsInARow = 0;
        }
    }

    private void NoteFault(int result, Action<string, string> notice)
    {
        Interlocked.Increment(ref _faults);
        _faultsInARow++;
        if (_faultLines.Admits(Environment.TickCount64))
        {
            notice(_sink.Name, Errno.Describe(result));
        }
    }
}
