using System.IO.Pipelines;
using System.Threading.Tasks.Sources;
using Millrace.Engine.Diagnostics;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// A pipe reader whose waits all end on one reactor. A plain pipe reader continues on the calling thread when data is already available, so
/// that a request loop whose handler awaited something else would stay off the reactor for as long as the peer is ahead of it.
/// </summary>
/// <param name="inner">The reader of a pipe that schedules its reader on the reactor.</param>
/// <param name="scheduler">The scheduler of that pipe's reader.</param>
internal sealed class ReactorPipeReader(PipeReader inner, ReactorScheduler scheduler) : PipeReader, IValueTaskSource<ReadResult>
{
    private static readonly Action<object?> ForwardOnReactor = static reader =>
        ((ReactorPipeReader)reader!)._scheduler.RunPosted(static reader => ((ReactorPipeReader)reader!).ForwardRead(), reader);

    private readonly ReactorScheduler _scheduler = scheduler;
    private volatile bool _waitsOnReactor;
    private volatile bool _waitsOffReactor;
    private long _waitHeartbeat;
    private ManualResetValueTaskSourceCore<ReadResult> _forwarded;
    private ValueTask<ReadResult> _pendingRead;
    private Action? _forwardRead;

    /// <summary>Whether the application waits for bytes that only the reactor can bring. Any thread.</summary>
    public OwnerWait Wait =>
        _waitsOnReactor || _waitsOffReactor ? _scheduler.ClassifyWait(Volatile.Read(ref _waitHeartbeat)) : OwnerWait.None;

    /// <summary>
    /// The continuation of a wait that began off the reactor, as the first one of a connection does: the task of the loop that reads
    /// requests. Where <c>SslStream</c> reads, the task that ran the handshake.
    /// </summary>
    public object? Waiter { get; private set; }

    /// <summary>Notes that a wait which began on the reactor is about to end. Reactor thread.</summary>
    public void NoteInput() => _waitsOnReactor = false;

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        ValueTask<ReadResult> read = inner.ReadAsync(cancellationToken);
        if (_scheduler.Reactor.IsReactorThread)
        {
            Volatile.Write(ref _waitHeartbeat, _scheduler.Reactor.Heartbeat.Count);
            _waitsOnReactor = !read.IsCompleted;
            return read;
        }

        if (_scheduler.IsAway)
        {
            return read;
        }

        // The caller may read on behalf of code that blocks the reactor for it: Task.Run(...).Result.
        Volatile.Write(ref _waitHeartbeat, _scheduler.Reactor.Heartbeat.Count);
        _waitsOffReactor = true;
        _pendingRead = read;
        _forwarded.Reset();
        return new ValueTask<ReadResult>(this, _forwarded.Version);
    }

    public override bool TryRead(out ReadResult result) => inner.TryRead(out result);

    public override void AdvanceTo(SequencePosition consumed)
    {
        _waitsOnReactor = false;
        inner.AdvanceTo(consumed);
    }

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        _waitsOnReactor = false;
        inner.AdvanceTo(consumed, examined);
    }

    public override void CancelPendingRead() => inner.CancelPendingRead();

    public override void Complete(Exception? exception = null) => inner.Complete(exception);

    /// <summary>
    /// Posts to the reactor only here, when the awaiting code has suspended: if the read had completed before, that code would continue on
    /// its own thread.
    /// </summary>
    void IValueTaskSource<ReadResult>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        Waiter = state;
        _forwarded.OnCompleted(continuation, state, token, flags);
        if (_pendingRead.IsCompleted)
        {
            _scheduler.Reactor.PostMovable(ForwardOnReactor, this);
        }
        else
        {
            _pendingRead.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(_forwardRead ??= ForwardRead);
        }
    }

    ReadResult IValueTaskSource<ReadResult>.GetResult(short token) => _forwarded.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<ReadResult>.GetStatus(short token) => _forwarded.GetStatus(token);

    private void ForwardRead()
    {
        ValueTask<ReadResult> read = _pendingRead;
        _pendingRead = default;
        _waitsOffReactor = false;
        _forwarded.SetResultOf(read);
    }
}
