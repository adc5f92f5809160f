using System.IO.Pipelines;
using System.Threading.Tasks.Sources;
using Millrace.Engine.Diagnostics;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// A pipe writer whose pending flush can be released early. The reactor sends what a flush waits for, and code that blocks the reactor with
/// a flush, as a large synchronous write does, would wait forever: its bytes stay in the pipe instead, above the pipe's limit.
/// </summary>
/// <param name="inner">The writer of a pipe that schedules its writer with <paramref name="scheduler"/>.</param>
/// <param name="scheduler">The application's scheduler.</param>
internal sealed class NonBlockingFlushPipeWriter(PipeWriter inner, ReactorScheduler scheduler) : PipeWriter, IValueTaskSource<FlushResult>
{
    /// <summary>Limit of bytes kept for a blocking writer; a process must not hold more for one connection.</summary>
    private const long ReliefBytesMax = 64L * 1024 * 1024;

    /// <summary>No flush is pending, and the pipe's flush is not awaited.</summary>
    private const int Idle = 0;
    private const int Waiting = 1;

    /// <summary>The pending flush was released; the pipe's flush is still awaited.</summary>
    private const int Relieved = 2;

    private static readonly FlushResult Broken = new(isCanceled: false, isCompleted: true);

    private ManualResetValueTaskSourceCore<FlushResult> _flush;
    private ValueTask<FlushResult> _drain;
    private Action? _drained;
    private long _writtenBytes;
    private long _relievedFromBytes;
    private long _waitHeartbeat;
    private int _state;
    private volatile bool _isBroken;

    /// <summary>Whether the application waits for the reactor to send. Any thread.</summary>
    public OwnerWait Wait =>
        Volatile.Read(ref _state) == Waiting ? scheduler.ClassifyWait(Volatile.Read(ref _waitHeartbeat)) : OwnerWait.None;

    public override bool CanGetUnflushedBytes => inner.CanGetUnflushedBytes;

    public override long UnflushedBytes => inner.UnflushedBytes;

    private bool MayBeRelieved => _writtenBytes - _relievedFromBytes <= ReliefBytesMax;

    public override Memory<byte> GetMemory(int sizeHint = 0) => inner.GetMemory(sizeHint);

    public override Span<byte> GetSpan(int sizeHint = 0) => inner.GetSpan(sizeHint);

    public override void Advance(int bytes)
    {
        _writtenBytes += bytes;
        inner.Advance(bytes);
    }

    public override ValueTask<FlushResult> WriteAsync(ReadOnlyMemory<byte> source, CancellationToken cancellationToken = default)
    {
        _writtenBytes += source.Length;
        return End(inner.WriteAsync(source, cancellationToken));
    }

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default) =>
        End(inner.FlushAsync(cancellationToken));

    public override void CancelPendingFlush() => inner.CancelPendingFlush();

    public override void Complete(Exception? exception = null) => inner.Complete(exception);

    /// <summary>
    /// Releases a flush that waits within the reactor's current callback, or that waits while the reactor is stalled, unless too many bytes
    /// are kept already. Any thread; the reactor has been in one callback for some time.
    /// </summary>
    public void Relieve()
    {
        if ((Wait == OwnerWait.Certain || scheduler.Reactor.IsStalled) && MayBeRelieved && TryRelieve())
        {
            ThreadPool.UnsafeQueueUserWorkItem(static writer => writer._flush.SetResult(default), this, preferLocal: false);
        }
    }

    /// <summary>
    /// From now on no flush waits: its result says that the reader has completed, as a flush may not end with an exception here. Any
    /// thread.
    /// </summary>
    public void Break()
    {
        _isBroken = true;
        if (TryRelieve())
        {
            ThreadPool.UnsafeQueueUserWorkItem(static writer => writer._flush.SetResult(Broken), this, preferLocal: false);
        }
    }

    FlushResult IValueTaskSource<FlushResult>.GetResult(short token) => _flush.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<FlushResult>.GetStatus(short token) => _flush.GetStatus(token);

    void IValueTaskSource<FlushResult>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _flush.OnCompleted(continuation, state, token, flags);

    private bool TryRelieve() => Interlocked.CompareExchange(ref _state, Relieved, Waiting) == Waiting;

    private ValueTask<FlushResult> End(ValueTask<FlushResult> flush) => flush.IsCompleted ? flush : WaitFor(flush);

    private ValueTask<FlushResult> WaitFor(ValueTask<FlushResult> flush)
    {
        if (Volatile.Read(ref _state) != Relieved)
        {
            _relievedFromBytes = _writtenBytes;
        }
        else if (MayBeRelieved && scheduler.IsRunning && scheduler.Reactor.Heartbeat.Count == _waitHeartbeat)
        {
            // The writer was released in the callback that it still blocks: otherwise each of its writes would wait for another check of
            // the watchdog.
            return default;
        }

        _flush.Reset();
        _drain = flush;
        Volatile.Write(ref _waitHeartbeat, scheduler.Reactor.Heartbeat.Count);
        var wait = new ValueTask<FlushResult>(this, _flush.Version);
        if (Interlocked.CompareExchange(ref _state, Waiting, Relieved) == Idle)
        {
            Interlocked.Exchange(ref _state, Waiting);
            AwaitDrain();
        }

        // Dekker pattern: this thread writes _state, fences, reads _isBroken; Break writes _isBroken, then reads _state with a full fence.
        // One of them sees the other.
        return _isBroken && TryRelieve() ? new ValueTask<FlushResult>(Broken) : wait;
    }

    private void AwaitDrain() => _drain.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(_drained ??= OnDrained);

    private void OnDrained()
    {
        if (Interlocked.CompareExchange(ref _state, Idle, Relieved) == Relieved)
        {
            return;
        }

        if (!_drain.IsCompleted)
        {
            // The pipe drained for a flush that was released since, and is full again for a later one.
            AwaitDrain();
            return;
        }

        if (Interlocked.Exchange(ref _state, Idle) == Waiting)
        {
            _flush.SetResultOf(_drain);
        }
    }
}
