using System.Diagnostics;
using System.Threading.Tasks.Sources;
using Millrace.Engine.Backends;

namespace Millrace.Engine.Operations;

/// <summary>Why an operation ends early.</summary>
internal enum OperationEnd : byte
{
    None,

    Cancelled,

    TimedOut,

    /// <summary>The reactor, or the operation's owner, stops.</summary>
    Stopped,
}

/// <summary>
/// Work of a reactor for code outside its connections: a delay, an I/O operation, or both. It is in the reactor's
/// <see cref="OperationTable"/> from its start until it is done, which is not before the kernel has released its memory. It may be awaited
/// once each time. Reactor thread, except its cancellation token.
/// </summary>
internal abstract class ReactorOperation(Reactor reactor, OperationKind kind) : IValueTaskSource, IValueTaskSource<int>
{
    private static readonly Action<object?> Cancel = static operation => ((ReactorOperation)operation!).RequestCancel();

    private static readonly Action<object?> CancelOnReactor = static state =>
    {
        var (operation, number) = ((ReactorOperation, long))state!;
        if (operation.Number == number)
        {
            operation.End(OperationEnd.Cancelled);
        }
    };

    private ManualResetValueTaskSourceCore<int> _core;
    private CancellationToken _cancellation;
    private CancellationTokenRegistration _registration;
    private CancelRetry _cancelRetry;
    private bool _isInFlight;

    public int Slot { get; internal set; }

    /// <summary>Distinguishes it from other operations of the slot.</summary>
    public uint Generation { get; internal set; }

    /// <summary>Unique over all operations, as objects are reused. 0 outside of the table.</summary>
    public long Number { get; internal set; }

    /// <summary>When <see cref="OnDue"/> is to be called; <see cref="long.MaxValue"/> for never.</summary>
    public long DueMs { get; internal set; } = long.MaxValue;

    protected Reactor Reactor { get; } = reactor;

    /// <summary>Why it is ending early; <see cref="OperationEnd.None"/> if it is not.</summary>
    protected OperationEnd EndReason { get; private set; }

    protected bool IsEnding => EndReason != OperationEnd.None;

    public void OnCompleted(in Completion completion)
    {
        _isInFlight = !completion.IsTerminal;
        Completed(completion);
    }

    /// <summary>Its time has come; while it ends, the time to repeat a cancel that has not taken effect.</summary>
    public void OnDue()
    {
        if (IsEnding)
        {
            SubmitCancel();
        }
        else
        {
            TimeReached();
        }
    }

    public void End(OperationEnd reason)
    {
        if (IsEnding)
        {
            return;
        }

        EndReason = reason;
        if (_isInFlight)
        {
            SubmitCancel();
        }
        else
        {
            Ended();
        }
    }

    /// <summary>
    /// The reactor ends while the kernel still uses its memory. Completes the wait, unless the memory is the caller's, to which the kernel
    /// may still write.
    /// </summary>
    public virtual void Abandon()
    {
    }

    /// <summary>The result of its I/O operation, or of one step.</summary>
    protected virtual void Completed(in Completion completion) =>
        throw new UnreachableException($"{GetType().Name} has no operation.");

    /// <summary>The time of <see cref="OperationTable.WakeAt"/>.</summary>
    protected virtual void TimeReached() => throw new UnreachableException($"{GetType().Name} has no time.");

    /// <summary>It has ended early, and no I/O operation is in flight.</summary>
    protected virtual void Ended() => Finish(0, EndError());

    protected virtual Exception EndError() => EndReason == OperationEnd.Cancelled
        ? new OperationCanceledException(_cancellation)
        : new OperationCanceledException("The reactor stops.");

    /// <summary>Releases what it holds; <paramref name="error"/> is null if it succeeded.</summary>
    protected virtual void Release(Exception? error)
    {
    }

    /// <summary>Its awaiter has read the result: the object may be reused.</summary>
    protected virtual void Return()
    {
    }

    /// <summary>Puts it into the table; false, having released everything, if its token was cancelled or the reactor stops.</summary>
    protected bool TryEnter(CancellationToken cancellation, out Exception? refusal)
    {
        _cancellation = cancellation;
        _cancelRetry = default;
        EndReason = cancellation.IsCancellationRequested ? OperationEnd.Cancelled
            : Reactor.Operations.TryAdd(this) ? OperationEnd.None
            : OperationEnd.Stopped;
        if (IsEnding)
        {
            refusal = EndError();
            Release(refusal);
            return false;
        }

        refusal = null;
        _registration = cancellation.UnsafeRegister(Cancel, this);
        return true;
    }

    /// <summary>The token of the I/O operation that is about to be submitted.</summary>
    protected OperationToken BeginSubmit()
    {
        _isInFlight = true;
        return new OperationToken(kind, Generation, Slot);
    }

    /// <summary>The wait for <see cref="Finish"/>.</summary>
    protected ValueTask<int> WaitForResult() => new(this, _core.Version);

    /// <inheritdoc cref="WaitForResult"/>
    protected ValueTask WaitForEnd() => new(this, _core.Version);

    /// <summary>It is done, with a result or an error: releases everything and completes the wait.</summary>
    protected void Finish(int result, Exception? error)
    {
        Release(error);
        Leave();
        if (error is null)
        {
            _core.SetResult(result);
        }
        else
        {
            _core.SetException(error);
        }
    }

    protected void Leave()
    {
        // Waits for a callback in progress, which only posts: after it nothing refers to this operation any more.
        _registration.Dispose();
        _registration = default;
        Reactor.Operations.Remove(this);
    }

    int IValueTaskSource<int>.GetResult(short token)
    {
        // Throws for a second read of the result: the object may have been reused by then.
        bool isOver = _core.GetStatus(token) != ValueTaskSourceStatus.Pending;
        try
        {
            return _core.GetResult(token);
        }
        finally
        {
            if (isOver)
            {
                _core.Reset();
                Return();
            }
        }
    }

    void IValueTaskSource.GetResult(short token) => _ = ((IValueTaskSource<int>)this).GetResult(token);

    public ValueTaskSourceStatus GetStatus(short token) => _core.GetStatus(token);

    public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        // On the reactor it continues inline, whatever context there is.
        _core.OnCompleted(continuation, state, token, flags & ~ValueTaskSourceOnCompletedFlags.UseSchedulingContext);

    private void SubmitCancel()
    {
        Reactor.Backend.SubmitCancel(new OperationToken(kind, Generation, Slot));
        Reactor.Operations.WakeAt(this, _cancelRetry.NextMs(Reactor.NowMs));
    }

    /// <summary>Any thread.</summary>
    private void RequestCancel() => Reactor.Post(CancelOnReactor, (this, Number));
}
