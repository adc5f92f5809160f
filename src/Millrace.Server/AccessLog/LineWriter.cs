using Microsoft.Extensions.Logging;
using Millrace.Interop;

namespace Millrace.Server.AccessLog;

/// <summary>
/// The thread that writes lines from the reactors' rings to their destination. Only this thread uses the destination and waits for it. It
/// sleeps while there are no lines; the first one wakes it, and it collects more for a moment before it writes.
/// </summary>
/// <remarks>
/// After a fault (a full disk, a stopped log daemon) it retries every second at the byte where the write failed, so that no line is torn or
/// written twice; meanwhile the rings fill up, and then lines are dropped. Each fault is counted, and logged rate-limited.
/// </remarks>
internal sealed class LineWriter : IDisposable
{
    /// <summary>
    /// Long enough that a busy server writes a few thousand lines at a time, short enough for a person who watches the log.
    /// </summary>
    private const int GatherMs = 20;

    private const int RetryMs = 1_000;

    private readonly ILogSink _sink;
    private readonly AccessLogEvents _events;
    private readonly LineRing[] _rings;
    private readonly AutoResetEvent _wakeEvent = new(initialState: false);
    private readonly Thread _thread;
    private readonly byte[] _batch;
    private readonly TimeSpan _timeout;
    private readonly LogRateLimiter _faultLines = new();

    private int _batchStart;
    private int _batchEnd;
    private int _isSleeping;
    private bool _reopenRequested;
    private bool _endRequested;
    private int _retryMs;
    private long _faults;
    private long _writtenBytes;
    private long _faultsInARow;

    /// <summary>Takes over the open sink. <paramref name="timeout"/>: how long disposal waits without any progress.</summary>
    public LineWriter(ILogSink sink, AccessLogEvents events, LineRing[] rings, int lineBytesMax, TimeSpan timeout)
    {
        _timeout = timeout;
        _sink = sink;
        _events = events;
        _rings = rings;
        _batch = new byte[lineBytesMax];
        _thread = new Thread(Run) { IsBackground = true, Name = "millrace-log" };
        _thread.UnsafeStart();
    }

    /// <summary>Failed attempts to write or to open. Any thread.</summary>
    public long Faults => Interlocked.Read(ref _faults);

    /// <summary>Called after lines were added to a ring. Any thread; nearly free while the writer is awake.</summary>
    public void Notify()
    {
        // Dekker pattern: this thread adds the line, fences, reads _isSleeping; the writer sets _isSleeping, fences, reads the rings. One
        // of them sees the other.
        Interlocked.MemoryBarrier();
        if (Volatile.Read(ref _isSleeping) != 0 && Interlocked.Exchange(ref _isSleeping, 0) != 0)
        {
            _wakeEvent.Set();
        }
    }

    /// <summary>Writes the available lines now, as a ring fills up. Any thread.</summary>
    public void Hurry() => _wakeEvent.Set();

    /// <summary>Has the log reopened under its name. Any thread; does not wait.</summary>
    public void Reopen()
    {
        Volatile.Write(ref _reopenRequested, true);
        _wakeEvent.Set();
    }

    /// <summary>Writes the remaining lines and stops the thread. No lines may be added any more.</summary>
    public void Dispose()
    {
        Volatile.Write(ref _endRequested, true);
        _wakeEvent.Set();
        long before;
        do
        {
            before = Interlocked.Read(ref _writtenBytes);
            if (_thread.Join(_timeout))
            {
                _wakeEvent.Dispose();
                return;
            }
        }
        while (Interlocked.Read(ref _writtenBytes) > before);

        // The thread is stuck in a write or in retries: the process ends without it.
        _events.Abandoned(_sink.Name);
    }

    private void Run()
    {
        while (true)
        {
            Sleep();
            bool isLast = Volatile.Read(ref _endRequested);
            ReopenIfRequested();
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
            _wakeEvent.WaitOne(_retryMs);
            return;
        }

        Interlocked.Exchange(ref _isSleeping, 1);
        if (!HasLines && !HasRequest)
        {
            _wakeEvent.WaitOne();
        }

        Volatile.Write(ref _isSleeping, 0);
        if (!HasRequest)
        {
            _wakeEvent.WaitOne(GatherMs);
        }
    }

    private bool HasLines => Array.Exists(_rings, static ring => !ring.IsEmpty);

    private bool HasRequest => Volatile.Read(ref _endRequested) || Volatile.Read(ref _reopenRequested);

    private void ReopenIfRequested()
    {
        if (!Volatile.Read(ref _reopenRequested))
        {
            return;
        }

        Volatile.Write(ref _reopenRequested, false);
        int result = _sink.Open();
        if (result < 0)
        {
            Volatile.Write(ref _reopenRequested, true);
            _retryMs = RetryMs;
            NoteFault(result, _events.NotReopened);
            return;
        }

        // A partly written line stays in the old file, and is written again as a whole to the new one.
        _batchStart = _batch.AsSpan(0, _batchStart).LastIndexOf((byte)'\n') + 1;
        _events.Reopened(_sink.Name);
    }

    /// <summary>
    /// Writes a batch of each ring in turn, and repeats while batches are large: no reactor's lines wait for another's, and a few new lines
    /// are collected first. False if something remains: new lines, data that cannot be written now, or a pending reopen.
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
            if (_retryMs == 0 && Volatile.Read(ref _reopenRequested))
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
                // A non-blocking pipe with a slow reader, which is not a fault.
                _retryMs = GatherMs;
                return false;
            }

            if (result <= 0 && result != -Errno.EINTR)
            {
                _retryMs = RetryMs;
                NoteFault(result, _events.Failed);
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
        if (Volatile.Read(ref _reopenRequested))
        {
            // The fault of reopening continues.
            return;
        }

        _retryMs = 0;
        if (_faultsInARow > 0)
        {
            _events.Recovered(_sink.Name, _faultsInARow);
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

/// <summary>Log messages about the access log. Event ids are stable: 70x.</summary>
internal sealed partial class AccessLogEvents(ILogger logger)
{
    [LoggerMessage(700, LogLevel.Warning,
        "Access log lines dropped: {Count}, {Total} in total. {Name} is slower than requests arrive.")]
    public partial void Dropped(long count, long total, string name);

    [LoggerMessage(701, LogLevel.Error, "Writing the access log to {Name} failed: {Reason}. Retrying every second.")]
    public partial void Failed(string name, string reason);

    [LoggerMessage(702, LogLevel.Information, "Writing the access log to {Name} works again (failed attempts: {Faults}).")]
    public partial void Recovered(string name, long faults);

    [LoggerMessage(703, LogLevel.Error,
        "Reopening the access log at {Name} failed: {Reason}. Keeping the open file and retrying every second.")]
    public partial void NotReopened(string name, string reason);

    [LoggerMessage(704, LogLevel.Information, "The access log was reopened at {Name}.")]
    public partial void Reopened(string name);

    [LoggerMessage(705, LogLevel.Warning, "Shutdown timed out flushing the access log to {Name}; the remaining lines are lost.")]
    public partial void Abandoned(string name);
}
