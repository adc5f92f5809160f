using Millrace.Engine.Connections;
using Millrace.Engine.Loop;

namespace Millrace.Engine;

/// <content>
/// Deadlines. One timer per connection, set lazily: moving a deadline later is one store per request and leaves the timer where it is; when
/// it fires, it checks all deadlines and is set to the nearest.
/// </content>
public sealed partial class Connection
{
    /// <summary>How long a new connection has for its first request when the group stops; a served client has sent it by then.</summary>
    private const int FirstRequestMs = 500;

    /// <summary>The delay before a send is retried for which the kernel had no memory.</summary>
    private const int SendRetryMs = 50;

    private long _timerMs;
    private long _readDeadlineMs;
    private long _readCheckMs;
    private long _sendCheckMs;
    private bool _sendHasCredit;

    /// <summary>When the last send ended; <see cref="long.MaxValue"/> while one is in flight.</summary>
    private long _sendEndedMs;
    private long _sendRetryMs;
    private long _lingerDeadlineMs;
    private long _firstRequestDeadlineMs;

    /// <summary>Created on first use, which most connections never reach, and kept with the slot.</summary>
    private TransferRateLimit? _readRate;
    private TransferRateLimit? _sendRate;

    /// <summary>
    /// Ends waits for input with <see cref="ReadOutcome.TimedOut"/> after <paramref name="fromNow"/> (up to 64 ms late), whatever arrives
    /// until then; <see cref="Timeout.InfiniteTimeSpan"/> removes the deadline.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative.</exception>
    public void SetReadDeadline(TimeSpan fromNow)
    {
        Reactor.AssertReactorThread();
        AssertServing();
        TimeLimit.Require(fromNow);
        SetReadDeadline(TimeLimit.After(Reactor.NowMs, fromNow));
    }

    /// <summary>As above, at a time of the reactor's clock (<see cref="Reactor.NowMs"/>).</summary>
    internal void SetReadDeadline(long atMs)
    {
        _readCheckMs = long.MaxValue;
        _readDeadlineMs = atMs;
        if (_read.IsPending)
        {
            WakeAt(atMs);
        }
    }

    /// <summary>
    /// Ends waits for input with <see cref="ReadOutcome.TimedOut"/> when the peer is silent for the window, when its average rate is below
    /// the minimum (0: none) for long enough to use the window up, or when <paramref name="most"/> has passed
    /// (<see cref="Timeout.InfiniteTimeSpan"/>: no limit). Holds until a read deadline or another rate is set.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The rate or a time is negative, or the window is not positive.</exception>
    public void SetReadRate(int bytesPerSecond, TimeSpan window, TimeSpan most)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(bytesPerSecond);
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(window, TimeSpan.Zero);
        TimeLimit.Require(most);
        SetReadDeadline(most);
        _readRate ??= new TransferRateLimit();
        _readRate.Begin(Reactor.NowMs, (long)Math.Ceiling(window.TotalMilliseconds), bytesPerSecond, _receivedBytes);
        _readCheckMs = _readRate.NextCheckMs;
        if (_read.IsPending)
        {
            WakeAt(_readCheckMs);
        }
    }

    internal void OnTimer(long nowMs)
    {
        _timerMs = long.MaxValue;
        if (HasDeadlines)
        {
            CheckFilters(nowMs);
            CheckSend(nowMs);
            CheckLinger(nowMs);
            CheckRead(nowMs);
        }
        else if (Phase == ConnectionPhase.Closing)
        {
            CheckCancels(nowMs);
        }

        WakeAt(NearestDeadline());
    }

    /// <summary>
    /// A closing connection has no deadlines but the retry of its cancels: a send that was retried then would not be cancelled.
    /// </summary>
    private bool HasDeadlines => Phase is > ConnectionPhase.Free and < ConnectionPhase.Closing;

    private void OpenDeadlines()
    {
        _timerMs = _sendCheckMs = _sendRetryMs = _lingerDeadlineMs = _firstRequestDeadlineMs = long.MaxValue;
        _readDeadlineMs = _readCheckMs = long.MaxValue;
        _sendHasCredit = false;
        _sendEndedMs = -1;
        _sentBytes = 0;
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
        if (!HasDeadlines)
        {
            return Phase == ConnectionPhase.Closing ? _cancelAgainMs : long.MaxValue;
        }

        long nearest = _read.IsPending || IsWaitingIdle
            ? Math.Min(Math.Min(_readDeadlineMs, _readCheckMs), _firstRequestDeadlineMs)
            : long.MaxValue;
        nearest = Math.Min(nearest, _filterDeadlineMs);
        nearest = _sending is null ? nearest : Math.Min(nearest, Math.Min(_sendCheckMs, _sendRetryMs));
        return Phase == ConnectionPhase.Lingering ? Math.Min(nearest, _lingerDeadlineMs) : nearest;
    }

    private void CheckRead(long nowMs)
    {
        if (IsWaitingIdle)
        {
            CheckIdle(nowMs);
            return;
        }

        if (!_read.IsPending)
        {
            return;
        }

        if (nowMs >= _readDeadlineMs || IsSendingTooSlowly(nowMs))
        {
            _read.Complete(ReadOutcome.TimedOut);
        }
        else if (nowMs >= _firstRequestDeadlineMs)
        {
            OnDrainedWithoutRequest();
        }
    }

    private bool IsSendingTooSlowly(long nowMs)
    {
        if (nowMs < _readCheckMs)
        {
            return false;
        }

        bool isTooSlow = _readRate!.IsTooSlow(nowMs, _receivedBytes);
        _readCheckMs = _readRate.NextCheckMs;
        return isTooSlow;
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
            EndIdle();
        }
    }

    /// <summary>
    /// Starts the rate check of a send. Sends that follow one another without a pause are measured together: a peer that takes one piece
    /// after another, each just in time, is slow nevertheless. Most sends end before the first check and so cost no system call.
    /// </summary>
    private void BeginSendCheck()
    {
        if (_sendEndedMs < Reactor.NowMs)
        {
            _sendCheckMs = Reactor.NowMs + (Reactor.WriteStallMs / 4);
            if (_sendHasCredit)
            {
                _sendRate!.Resume(Reactor.NowMs, BytesTaken());
                _sendCheckMs = _sendRate.NextCheckMs;
            }
        }

        _sendEndedMs = long.MaxValue;
        WakeAt(_sendCheckMs);
    }

    /// <summary>
    /// The kernel has all of it. What was taken since the last check counts; a send that follows in the same iteration follows without a
    /// pause.
    /// </summary>
    private void EndSendCheck()
    {
        if (_sendEndedMs != long.MaxValue)
        {
            return;
        }

        _sendEndedMs = Reactor.NowMs;
        if (_sendHasCredit)
        {
            _sendRate!.Settle(Reactor.NowMs, BytesTaken());
        }
    }

    private void RetrySendLater()
    {
        _sendRetryMs = Reactor.NowMs + SendRetryMs;
        WakeAt(_sendRetryMs);
    }

    private void CheckSend(long nowMs)
    {
        if (_sending is null)
        {
            return;
        }

        if (nowMs >= _sendCheckMs && IsTakingTooSlowly(nowMs))
        {
            Reactor.Counters.Stalled++;
            Abort();
            return;
        }

        if (!_sendInFlight && nowMs >= _sendRetryMs)
        {
            _sendRetryMs = long.MaxValue;
            SubmitSend();
        }
    }

    /// <summary>
    /// The first check only records the count: what was taken before is unknown and counts in the peer's favour. This credit is given once
    /// per connection; from then on its sends are measured from their first byte to their last.
    /// </summary>
    private bool IsTakingTooSlowly(long nowMs)
    {
        long taken = BytesTaken();
        bool isTooSlow = _sendHasCredit && _sendRate!.IsTooSlow(nowMs, taken);
        if (!_sendHasCredit)
        {
            _sendHasCredit = true;
            _sendRate ??= new TransferRateLimit();
            _sendRate.Begin(nowMs, Reactor.WriteStallMs, Limits.WriteBytesPerSecond, taken);
        }

        _sendCheckMs = _sendRate!.NextCheckMs;
        return isTooSlow;
    }

    /// <summary>A unix socket reports only its queue length, so the bytes of completed sends are added.</summary>
    private long BytesTaken() => Backend.SendProgress(_socket) + (_listener!.HasClientAddresses ? 0 : _sentBytes);

    private void SetLingerDeadline(long fromNowMs)
    {
        _lingerDeadlineMs = Reactor.NowMs + fromNowMs;
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
