using Millrace.Engine.Connections;

namespace Millrace.Engine;

/// <content>
/// Deadlines. One timer per connection, set lazily: it stays where it is while deadlines move away from it (a store per
/// request, no more), looks when it fires, and goes on to the nearest one.
/// </content>
public sealed partial class Connection
{
    /// <summary>How long a new connection has for its first request when the group stops: who was let in has sent it by then.</summary>
    private const int FirstRequestMs = 500;

    /// <summary>When a send is tried again for which the kernel had no memory.</summary>
    private const int SendRetryMs = 50;

    private long _timerMs;
    private long _readDeadlineMs;
    private long _sendDeadlineMs;
    private long _sendProgress;
    private long _sendRetryMs;
    private long _lingerDeadlineMs;
    private long _firstRequestDeadlineMs;

    /// <summary>
    /// Lets waits for input end with <see cref="ReadOutcome.TimedOut"/> from <paramref name="fromNow"/> on (met up to 64 ms
    /// late), whatever arrives until then; <see cref="Timeout.InfiniteTimeSpan"/> takes the deadline away.
    /// </summary>
    public void SetReadDeadline(TimeSpan fromNow)
    {
        Reactor.AssertHome();
        SetReadDeadline(fromNow == Timeout.InfiniteTimeSpan ? long.MaxValue : Reactor.NowMs + (long)fromNow.TotalMilliseconds);
    }

    /// <summary>The same in milliseconds of the reactor's clock, as <see cref="Reactor.NowMs"/> counts them.</summary>
    internal void SetReadDeadline(long atMs)
    {
        _readDeadlineMs = atMs;
        if (_read.IsPending)
        {
            WakeAt(atMs);
        }
    }

    internal void OnTimer(long nowMs)
    {
        _timerMs = long.MaxValue;
        if (!IsOpen)
        {
            return;
        }

        CheckSend(nowMs);
        CheckLinger(nowMs);
        CheckRead(nowMs);
        WakeAt(NearestDeadline());
    }

    private void OpenDeadlines()
    {
        _timerMs = _readDeadlineMs = _sendDeadlineMs = _sendRetryMs = _lingerDeadlineMs = _firstRequestDeadlineMs = long.MaxValue;
    }

    private void WakeAt(long atMs)
    {
        if (atMs < _timerMs)
        {
            _timerMs = atMs;
            Reactor.Timers.Schedule(Slot, atMs);
        }
    }

    private long NearestDeadline()
    {
        if (!IsOpen)
        {
            return long.MaxValue;
        }

        long nearest = _read.IsPending ? Math.Min(_readDeadlineMs, _firstRequestDeadlineMs) : long.MaxValue;
        nearest = _sending is null ? nearest : Math.Min(nearest, Math.Min(_sendDeadlineMs, _sendRetryMs));
        return Phase == ConnectionPhase.Lingering ? Math.Min(nearest, _lingerDeadlineMs) : nearest;
    }

    private void CheckRead(long nowMs)
    {
        if (_read.IsPending && nowMs >= _readDeadlineMs)
        {
            _read.Complete(ReadOutcome.TimedOut);
        }
        else if (_read.IsPending && nowMs >= _firstRequestDeadlineMs)
        {
            OnDrainedWithoutRequest();
        }
    }

    private void SetFirstRequestDeadline()
    {
        _firstRequestDeadlineMs = Reactor.NowMs + FirstRequestMs;
        WakeAt(_firstRequestDeadlineMs);
    }

    private void OnDrainedWithoutRequest()
    {
        _firstRequestDeadlineMs = long.MaxValue;
        if (_readIsIdle && _input.Count == 0)
        {
            _read.Complete(ReadOutcome.Draining);
        }
    }

    private void WatchSend()
    {
        _sendProgress = -1;
        _sendDeadlineMs = Reactor.NowMs + Reactor.WriteStallMs;
        WakeAt(_sendDeadlineMs);
    }

    private void RetrySendLater()
    {
        _sendRetryMs = Reactor.NowMs + SendRetryMs;
        WakeAt(_sendRetryMs);
    }

    /// <summary>
    /// The first look takes the measure, the next ones compare: a peer that took nothing in between is gone. It lives for one to
    /// two times the limit, as what it took before the first look is not known.
    /// </summary>
    private void CheckSend(long nowMs)
    {
        if (_sending is null)
        {
            return;
        }

        if (nowMs >= _sendDeadlineMs)
        {
            long progress = Backend.SendProgress(_socket);
            if (progress == _sendProgress)
            {
                Abort();
                return;
            }

            _sendProgress = progress;
            _sendDeadlineMs = nowMs + Reactor.WriteStallMs;
        }

        if (!_sendInFlight && nowMs >= _sendRetryMs)
        {
            _sendRetryMs = long.MaxValue;
            SubmitSend();
        }
    }

    private void SetLingerDeadline()
    {
        _lingerDeadlineMs = Reactor.NowMs + (long)Limits.Linger.TotalMilliseconds;
        WakeAt(_lingerDeadlineMs);
    }

    private void CheckLinger(long nowMs)
    {
        if (Phase == ConnectionPhase.Lingering && nowMs >= _lingerDeadlineMs)
        {
            BeginClose();
        }
    }
}
