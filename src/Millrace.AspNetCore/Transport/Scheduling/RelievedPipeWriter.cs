using System.IO.Pipelines;
using System.Threading.Tasks.Sources;
using Millrace.Engine.Watching;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// A pipe's writer whose flush can be told not to wait. The reactor sends what it waits for, and one who blocks the reactor with a
/// flush, as a synchronous write of much does, would wait for ever: his bytes are kept in the pipe instead, above its bound.
/// </summary>
/// <param name="inner">The writer of a pipe that schedules its writer by <paramref name="home"/>.</param>
/// <param name="home">Where the application goes on.</param>
internal sealed class RelievedPipeWriter(PipeWriter inner, HomeScheduler home) : PipeWriter, IValueTaskSource<FlushResult>
{
    /// <summary>Kept for one who blocks; more is too much for a process to hold for a connection.</summary>
    private const long ReliefBytesMax = 64L * 1024 * 1024;

    /// <summary>Nobody waits, and the pipe's writer is not waited for.</summary>
    private const int Idle = 0;
    private const int Waiting = 1;

    /// <summary>Nobody waits any more; the pipe's writer is waited for still.</summary>
    private const int Relieved = 2;

    private static readonly FlushResult Broken = new(isCanceled: false, isCompleted: true);

    private ManualResetValueTaskSourceCore<FlushResult> _flush;
    private ValueTask<FlushResult> _drain;
    private Action? _drained;
    private long _writtenBytes;
    private long _relievedFromBytes;
    private long _waitBeat;
    private int _state;
    private volatile bool _isBroken;

    /// <summary>Whether the application waits for the reactor to send. Any thread.</summary>
    public OccupantWait Wait => Volatile.Read(ref _state) == Waiting ? home.WaitSince(Volatile.Read(ref _waitBeat)) : OccupantWait.None;

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

    /// <summary>Has a flush that waits go on, unless too much is kept already. Any thread; the reactor is held up.</summary>
    public void Relieve()
    {
        if (MayBeRelieved && TryRelieve())
        {
            ThreadPool.UnsafeQueueUserWorkItem(static writer => writer._flush.SetResult(default), this, preferLocal: false);
        }
    }

    /// <summary>
    /// From here on no flush waits: its result is that nobody reads any more. An exception is none that a flush may end with. Any thread.
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
        else if (MayBeRelieved && home.IsHeldUpByOccupant)
        {
            // He was relieved in the very callback that he blocks still: each of his writes would cost him another look of the watch.
            return default;
        }

        _flush.Reset();
        _drain = flush;
        Volatile.Write(ref _waitBeat, home.Reactor.Pulse.Beats);
        var wait = new ValueTask<FlushResult>(this, _flush.Version);
        if (Interlocked.CompareExchange(ref _state, Waiting, Relieved) == Idle)
        {
            Interlocked.Exchange(ref _state, Waiting);
            AwaitDrain();
        }

        // Behind the state, with a full fence between: who breaks it writes first and looks at the state afterwards.
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
            // It was drained for one who had been relieved, and is full again for one who waits since.
            AwaitDrain();
            return;
        }

        if (Interlocked.Exchange(ref _state, Idle) == Waiting)
        {
            _flush.SetResultOf(_drain);
        }
    }
}
