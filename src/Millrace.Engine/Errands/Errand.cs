using System.Diagnostics;
using Millrace.Engine.Backends;

namespace Millrace.Engine.Errands;

/// <summary>Why an errand ends before it is done.</summary>
internal enum ErrandEnd : byte
{
    /// <summary>Its token was cancelled.</summary>
    Cancelled,

    /// <summary>The reactor stops.</summary>
    Stopped,
}

/// <summary>
/// Something that code asks of a reactor and waits for, beside its connections: a time, an operation, or both. It is in the reactor's
/// <see cref="ErrandTable"/> from its beginning until it is done, and not before the kernel has let go of its memory. Reactor thread, but
/// for its token.
/// </summary>
internal abstract class Errand(Reactor reactor)
{
    private static readonly Action<object?> Cancel = static errand => ((Errand)errand!).RequestCancel();

    private static readonly Action<object?> CancelHome = static state =>
    {
        var (errand, number) = ((Errand, long))state!;
        if (errand.Number == number)
        {
            errand.End(ErrandEnd.Cancelled);
        }
    };

    private CancellationTokenRegistration _registration;

    /// <summary>Its place in the table.</summary>
    public int Slot { get; internal set; }

    /// <summary>Which of the slot's tenants it is.</summary>
    public uint Generation { get; internal set; }

    /// <summary>No other errand has had it, and none will: objects are used again. 0 outside of the table.</summary>
    public long Number { get; internal set; }

    /// <summary>When <see cref="OnDue"/> is to be called; the largest number for never.</summary>
    public long DueMs { get; internal set; } = long.MaxValue;

    protected Reactor Reactor { get; } = reactor;

    /// <summary>What it is cancelled by.</summary>
    protected CancellationToken Cancellation { get; private set; }

    /// <summary>Its time has come.</summary>
    public virtual void OnDue() => throw new UnreachableException($"{GetType().Name} has no time.");

    /// <summary>Its operation has ended.</summary>
    public virtual void OnCompleted(in Completion completion) => throw new UnreachableException($"{GetType().Name} has no operation.");

    /// <summary>It is to end as soon as the kernel lets it.</summary>
    public abstract void End(ErrandEnd end);

    protected OperationToken Token(OperationKind kind) => new(kind, Generation, Slot);

    /// <summary>It begins, unless there is a reason not to: the result.</summary>
    protected OperationCanceledException? Enter(CancellationToken cancellation)
    {
        Cancellation = cancellation;
        if (cancellation.IsCancellationRequested)
        {
            return Cancelled(ErrandEnd.Cancelled);
        }

        if (!Reactor.Errands.TryAdd(this))
        {
            return Cancelled(ErrandEnd.Stopped);
        }

        _registration = cancellation.UnsafeRegister(Cancel, this);
        return null;
    }

    /// <summary>It is done, and whoever waits may be told.</summary>
    protected void Leave()
    {
        // It waits for a callback that is under way, which does no more than post: behind it nobody means this object any more.
        _registration.Dispose();
        _registration = default;
        Reactor.Errands.Remove(this);
    }

    /// <summary>What ended it, as whoever waits for it is told.</summary>
    protected OperationCanceledException Cancelled(ErrandEnd end) => end == ErrandEnd.Cancelled
        ? new OperationCanceledException(Cancellation)
        : new OperationCanceledException("The reactor stops.");

    /// <summary>Any thread.</summary>
    private void RequestCancel() => Reactor.Post(CancelHome, (this, Number));
}
