using Millrace.Engine.Watching;

namespace Millrace.Engine;

/// <content>What the watch sees and sets: a reactor in one callback for long is relieved of what others can do for it.</content>
public sealed partial class Reactor
{
    private volatile IOccupant? _occupant;
    private volatile bool _isHeldUp;

    internal Pulse Pulse { get; }

    /// <summary>The kernel's number of its thread, once it has started.</summary>
    internal int ThreadId { get; private set; }

    /// <summary>Whose code runs, where somebody has said so. Set on the reactor's thread; read by any.</summary>
    internal IOccupant? Occupant
    {
        get => _occupant;
        set => _occupant = value;
    }

    /// <summary>Whether it has been in one callback for long. Set by the watch; read by any.</summary>
    internal bool IsHeldUp
    {
        get => _isHeldUp;
        set => _isHeldUp = value;
    }

    /// <summary>
    /// Runs a continuation that does not touch what the reactor owns: on the reactor, or, while that is held up or has ended, on the
    /// thread pool. Any thread.
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
    /// As <see cref="PostMovable"/>, but behind the present callback: whatever called that has looked at what it returned. Only where the
    /// callback holds the reactor up does it come earlier, with the watch's next look. Reactor thread.
    /// </summary>
    internal void PostBehind(Action<object?> continuation, object? state)
    {
        AssertHome();
        _mailbox.PostMovable(continuation, state);
    }

    /// <summary>
    /// Has the thread pool run what was posted by <see cref="PostMovable"/>. Again and again while it is held up: one may have been on its
    /// way into the box at the first time. Any thread.
    /// </summary>
    internal void HandOver() => _mailbox.HandOver();
}
