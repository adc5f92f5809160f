using Millrace.Engine.Connections;
using Millrace.Engine.Listening;
using Millrace.Engine.Loop;

namespace Millrace.Engine;

/// <content>
/// Idle connections: the handler has returned and will be run again. Most connections of a server wait most of the time, and a waiting
/// handler costs some hundred bytes for its state machine and its session.
/// </content>
public sealed partial class Connection
{
    private IdleState _idleState;

    private enum IdleState : byte
    {
        None,

        /// <summary>The handler has asked for it and has not returned yet.</summary>
        Wanted,
        Waiting,
    }

    private bool IsWaitingIdle => _idleState == IdleState.Waiting;

    /// <summary>
    /// Called by a handler that has nothing to do, before it returns, so that the connection does not end with it. What was written is
    /// sent, and the next bytes run the listener's handler again, which finds them in <see cref="Input"/>. The connection ends in order
    /// when its peer ends it, when the group stops, or when <paramref name="most"/> has passed.
    /// </summary>
    /// <param name="most">
    /// How long it may be idle (up to 64 ms late); <see cref="Timeout.InfiniteTimeSpan"/>: as long as its peer keeps it open.
    /// </param>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative.</exception>
    /// <exception cref="InvalidOperationException">
    /// There is input that was not consumed, or the caller is not on the reactor's thread.
    /// </exception>
    public void WaitIdle(TimeSpan most)
    {
        TimeLimit.Require(most);
        WaitIdleUntil(TimeLimit.After(Reactor.NowMs, most));
    }

    /// <summary>As above, until a time of the reactor's clock.</summary>
    internal void WaitIdleUntil(long atMs)
    {
        Reactor.AssertReactorThread();
        AssertServing();
        if (_input.Count > 0)
        {
            throw new InvalidOperationException("A connection cannot become idle with unconsumed input; consume it first.");
        }

        SetReadDeadline(atMs);
        _idleState = IdleState.Wanted;
    }

    /// <summary>After the handler has returned.</summary>
    private void BeginIdleOrEnd()
    {
        // A refused connection is not served later.
        bool mayIdle = _idleState == IdleState.Wanted && _inputEnd == ReceiveEnd.None
            && (_isHeld || _lease.Admission != AdmissionResult.Refused);
        _idleState = IdleState.None;
        if (!mayIdle)
        {
            EndServing();
        }
        else if (_input.Count > 0)
        {
            Resume();
        }
        else
        {
            BeginIdle();
        }
    }

    private void BeginIdle()
    {
        _idleState = IdleState.Waiting;
        RequestFlush();
        WakeAt(_readDeadlineMs);
        ResumeReceive();
        if (Reactor.IsDraining)
        {
            OnDrain();
        }
    }

    /// <summary>Runs the handler: there is input, or a filter no longer holds the handler back.</summary>
    private void Resume()
    {
        _idleState = IdleState.None;
        _readDeadlineMs = long.MaxValue;
        _isHeld = false;
        RunHandler(_lease.Admission == AdmissionResult.Refused ? _listener!.Refusal! : _listener!.Handler);
    }

    private void LeaveIdle()
    {
        _idleState = IdleState.None;
        if (Phase == ConnectionPhase.Serving)
        {
            EndServing();
            Progress();
        }
    }

    /// <summary>The group stops, see <see cref="OnDrain"/>.</summary>
    private void DrainIdle()
    {
        if (HasReceived)
        {
            NoteIdleEnd();
            LeaveIdle();
        }
        else
        {
            SetFirstRequestDeadline();
        }
    }

    private void CheckIdle(long nowMs)
    {
        if (nowMs >= _readDeadlineMs)
        {
            LeaveIdle();
        }
        else if (nowMs >= _firstRequestDeadlineMs)
        {
            NoteIdleEnd();
            LeaveIdle();
        }
    }
}
