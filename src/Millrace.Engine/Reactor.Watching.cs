using Millrace.Engine.Diagnostics;

namespace Millrace.Engine;

/// <content>What the stall watchdog reads and sets, and the work that moves to other threads while a callback blocks the reactor.</content>
public sealed partial class Reactor
{
    private volatile ICallbackOwner? _owner;
    private volatile bool _isHeldUp;

    internal LoopHeartbeat Heartbeat { get; }

    /// <summary>The kernel's thread id, once the thread has started.</summary>
    internal int ThreadId { get; private set; }

    /// <summary>Owner of the running callback, where known. Written by the reactor's thread, read by any.</summary>
    internal ICallbackOwner? CallbackOwner
    {
        get => _owner;
        set => _owner = value;
    }

    /// <summary>Whether one callback has blocked the reactor for long. Written by the watchdog, read by any thread.</summary>
    internal bool IsHeldUp
    {
        get => _isHeldUp;
        set => _isHeldUp = value;
    }

    /// <summary>
    /// Runs a continuation that does not touch the reactor's state: on the reactor, or on the thread pool while the reactor is blocked or
    /// has ended. Any thread.
    /// </summary>
    internal void PostMovable(Action<object?> continuation, object? state)
    {
        if (_isHeldUp)
        {
            ThreadPool.UnsafeQueueUserWorkItem(continuation, state, preferLocal: false);
        }
        else
        {
            _mailbox.PostMovable(continuation, state);
        }
    }

    /// <summary>
    /// As <see cref="PostMovable"/>, but after the present callback, so that its caller has seen what it returned. If the callback blocks
    /// the reactor, it runs earlier, at the watchdog's next check. Reactor thread.
    /// </summary>
    internal void PostAfterCallback(Action<object?> continuation, object? state)
    {
        AssertReactorThread();
        _mailbox.PostMovable(continuation, state);
    }

    /// <summary>
    /// Moves continuations of <see cref="PostMovable"/> to the thread pool. Called repeatedly while the reactor is blocked: a post may have
    /// been in progress the first time. Any thread.
    /// </summary>
    internal void HandOver() => _mailbox.MoveToPool();
}
