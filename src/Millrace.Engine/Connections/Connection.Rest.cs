using Millrace.Engine.Connections;
using Millrace.Engine.Listening;

namespace Millrace.Engine;

/// <content>
/// Rest: a connection whose handler has returned and will be run again. Most connections of a server wait for most of their time, and
/// a handler that waits costs some hundred bytes of its own, its state machine's and its session's.
/// </content>
public sealed partial class Connection
{
    private RestState _rest;

    private enum RestState : byte
    {
        None,

        /// <summary>The handler has asked for it, and has not returned yet.</summary>
        Wanted,
        Resting,
    }

    private bool IsResting => _rest == RestState.Resting;

    /// <summary>
    /// Called by a handler that has nothing to do, before it returns: the connection does not end with it. What was written is
    /// sent, and with the next bytes the listener's handler is run on it anew, which finds them in <see cref="Input"/>. The connection
    /// ends in order when its peer has finished, when the group stops, or when <paramref name="most"/> has passed.
    /// </summary>
    /// <param name="most">How long it may rest; met up to 64 ms late.</param>
    /// <exception cref="InvalidOperationException">
    /// There is input that was not consumed, or the caller is not on the reactor's thread.
    /// </exception>
    public void Rest(TimeSpan most) => RestUntil(Reactor.NowMs + (long)most.TotalMilliseconds);

    /// <summary>The same until a time of the reactor's clock.</summary>
    internal void RestUntil(long atMs)
    {
        Reactor.AssertHome();
        AssertTenant();
        if (_input.Count > 0)
        {
            throw new InvalidOperationException("A connection rests without input; consume it first.");
        }

        SetReadDeadline(atMs);
        _rest = RestState.Wanted;
    }

    /// <summary>The handler has returned.</summary>
    private void RestOrEnd()
    {
        // Who is being refused is not to be served later.
        bool mayRest = _rest == RestState.Wanted && _inputEnd == ReceiveEnd.None && (_isHeld || _ticket.Admission != Admission.Refused);
        _rest = RestState.None;
        if (!mayRest)
        {
            EndServing();
        }
        else if (_input.Count > 0)
        {
            Resume();
        }
        else
        {
            BeginRest();
        }
    }

    private void BeginRest()
    {
        _rest = RestState.Resting;
        RequestFlush();
        WakeAt(_readDeadlineMs);
        ResumeReceive();
        if (Reactor.IsDraining)
        {
            OnDrain();
        }
    }

    /// <summary>There is input, or what the handler was held back for.</summary>
    private void Resume()
    {
        _rest = RestState.None;
        _readDeadlineMs = long.MaxValue;
        _isHeld = false;
        RunHandler(_ticket.Admission == Admission.Refused ? _listener!.Refusal! : _listener!.Handler);
    }

    private void EndRest()
    {
        _rest = RestState.None;
        if (Phase == ConnectionPhase.Serving)
        {
            EndServing();
            Progress();
        }
    }

    /// <summary>The group stops, see <see cref="OnDrain"/>.</summary>
    private void DrainRest()
    {
        if (HasReceived)
        {
            NoteIdleEnd();
            EndRest();
        }
        else
        {
            SetFirstRequestDeadline();
        }
    }

    private void CheckRest(long nowMs)
    {
        if (nowMs >= _readDeadlineMs)
        {
            EndRest();
        }
        else if (nowMs >= _firstRequestDeadlineMs)
        {
            NoteIdleEnd();
            EndRest();
        }
    }
}
