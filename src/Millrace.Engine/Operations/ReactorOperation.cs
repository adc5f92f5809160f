using System.Diagnostics;
using Millrace.Engine.Backends;

namespace Millrace.Engine.Operations;

/// <summary>Why an operation ends early.</summary>
internal enum OperationEnd : byte
{
    /// <summary>Its token was cancelled.</summary>
    Cancelled,

    /// <summary>The reactor stops.</summary>
    Stopped,
}

/// <summary>
/// Work of a reactor for code outside its connections: a delay, an I/O operation, or both. It is in the reactor's
/// <see cref="OperationTable"/> from its start until it is done, which is not before the kernel has released its memory. Reactor thread,
/// except its cancellation token.
/// </summary>
internal abstract class ReactorOperation(Reactor reactor)
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

    private CancellationTokenRegistration _registration;

    /// <summary>Its index in the table.</summary>
    public int Slot { get; internal set; }

    /// <summary>Distinguishes it from other operations of the slot.</summary>
    public uint Generation { get; internal set; }

    /// <summary>Unique over all operations, as objects are reused. 0 outside of the table.</summary>
    public long Number { get; internal set; }

    /// <summary>When <see cref="OnDue"/> is to be called; <see cref="long.MaxValue"/> for never.</summary>
    public long DueMs { get; internal set; } = long.MaxValue;

    protected Reactor Reactor { get; } = reactor;

    /// <summary>The token that cancels it.</summary>
    protected CancellationToken Cancellation { get; private set; }

    /// <summary>Its time has come.</summary>
    public virtual void OnDue() => throw new UnreachableException($"{GetType().Name} has no time.");

    /// <summary>Its I/O operation has completed.</summary>
    public virtual void OnCompleted(in Completion completion) => throw new UnreachableException($"{GetType().Name} has no operation.");

    /// <summary>Ends it as soon as the kernel allows.</summary>
    public abstract void End(OperationEnd end);

    /// <summary>
    /// The reactor ends while the kernel still uses its memory. Completes the wait, unless the memory is the caller's, to which the kernel
    /// may still write.
    /// </summary>
    public virtual void Abandon()
    {
    }

    protected OperationToken Token(OperationKind kind) => new(kind, Generation, Slot);

    /// <summary>Starts it; the result is why it does not start, or null.</summary>
    protected OperationCanceledException? Enter(CancellationToken cancellation)
    {
        Cancellation = cancellation;
        if (cancellation.IsCancellationRequested)
        {
            return Cancelled(OperationEnd.Cancelled);
        }

        if (!Reactor.Operations.TryAdd(this))
        {
            return Cancelled(OperationEnd.Stopped);
        }

        _registration = cancellation.UnsafeRegister(Cancel, this);
        return null;
    }

    /// <summary>Ends it; its wait may be completed after this.</summary>
    protected void Leave()
    {
        // Waits for a callback in progress, which only posts: after it nothing refers to this operation any more.
        _registration.Dispose();
        _registration = default;
        Reactor.Operations.Remove(this);
    }

    /// <summary>The exception for an early end.</summary>
    protected OperationCanceledException Cancelled(OperationEnd end) => end == OperationEnd.Cancelled
        ? new OperationCanceledException(Cancellation)
        : new OperationCanceledException("The reactor stops.");

    /// <summary>Any thread.</summary>
    private void RequestCancel() => Reactor.Post(CancelOnReactor, (this, Number));
}
