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
    private long _readLookMs;
    private long _sendLookMs;
    private bool _sendHasCredit;

    /// <summary>When there was nothing to send any more; the largest number while there is.</summary>
    private long _sendEndedMs;
    private long _sendRetryMs;
    private long _lingerDeadlineMs;
    private long _firstRequestDeadlineMs;

    /// <summary>Made when first needed, which for most connections is never, and kept with the slot.</summary>
    private RateWatch? _readRate;
    private RateWatch? _sendRate;

    /// <summary>
    /// Lets waits for input end with <see cref="ReadOutcome.TimedOut"/> from <paramref name="fromNow"/> on (met up to 64 ms
    /// late), whatever arrives until then; <see cref="Timeout.InfiniteTimeSpan"/> takes the deadline away.
    /// </summary>
    public void SetReadDeadline(TimeSpan fromNow)
    {
        Reactor.AssertHome();
        AssertTenant();
        SetReadDeadline(fromNow == Timeout.InfiniteTimeSpan ? long.MaxValue : Reactor.NowMs + (long)fromNow.TotalMilliseconds);
    }

    /// <summary>The same in milliseconds of the reactor's clock, as <see cref="Reactor.NowMs"/> counts them.</summary>
    internal void SetReadDeadline(long atMs)
    {
        _readLookMs = long.MaxValue;
        _readDeadlineMs = atMs;
        if (_read.IsPending)
        {
            WakeAt(atMs);
        }
    }

    /// <summary>
    /// Lets waits for input end with <see cref="ReadOutcome.TimedOut"/> when the peer falls silent for the window, when it sends
    /// fewer bytes a second on average (0: no rate) and so uses the window up little by little, or when <paramref name="most"/> has
    /// passed. Until a read deadline or another rate is set.
    /// </summary>
    public void SetReadRate(int bytesPerSecond, TimeSpan window, TimeSpan most)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(bytesPerSecond);
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(window, TimeSpan.Zero);
        SetReadDeadline(most);
        _readRate ??= new RateWatch();
        _readRate.Begin(Reactor.NowMs, (long)window.TotalMilliseconds, bytesPerSecond, _receivedBytes);
        _readLookMs = _readRate.NextLookMs;
        if (_read.IsPending)
        {
            WakeAt(_readLookMs);
        }
    }

    internal void OnTimer(long nowMs)
    {
        _timerMs = long.MaxValue;
        if (HasDeadlines)
        {
            CheckStages(nowMs);
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
    /// Not one that is closing, which has no other than to tell again what was told to end: a send that is tried again then would not be
    /// told.
    /// </summary>
    private bool HasDeadlines => Phase is > ConnectionPhase.Free and < ConnectionPhase.Closing;

    private void OpenDeadlines()
    {
        _timerMs = _sendLookMs = _sendRetryMs = _lingerDeadlineMs = _firstRequestDeadlineMs = long.MaxValue;
        _readDeadlineMs = _readLookMs = long.MaxValue;
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

        long nearest = _read.IsPending || IsResting
            ? Math.Min(Math.Min(_readDeadlineMs, _readLookMs), _firstRequestDeadlineMs)
            : long.MaxValue;
        nearest = Math.Min(nearest, _stageDeadlineMs);
        nearest = _sending is null ? nearest : Math.Min(nearest, Math.Min(_sendLookMs, _sendRetryMs));
        return Phase == ConnectionPhase.Lingering ? Math.Min(nearest, _lingerDeadlineMs) : nearest;
    }

    private void CheckRead(long nowMs)
    {
        if (IsResting)
        {
            CheckRest(nowMs);
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
        if (nowMs < _readLookMs)
        {
            return false;
        }

        bool isTooSlow = _readRate!.IsTooSlow(nowMs, _receivedBytes);
        _readLookMs = _readRate.NextLookMs;
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
    /// Something is sent. What follows it without a pause is watched with it: a peer that takes one piece after the other, each just in
    /// time, is slow all the same. Most sends are over long before the first look, and so cost no system call.
    /// </summary>
    private void WatchSend()
    {
        if (_sendEndedMs < Reactor.NowMs)
        {
            _sendLookMs = Reactor.NowMs + (Reactor.WriteStallMs / 4);
            if (_sendHasCredit)
            {
                _sendRate!.Resume(Reactor.NowMs, BytesTaken());
                _sendLookMs = _sendRate.NextLookMs;
            }
        }

        _sendEndedMs = long.MaxValue;
        WakeAt(_sendLookMs);
    }

    /// <summary>
    /// All of it is with the kernel. What was taken since the last look counts; what follows in the same turn follows without a pause.
    /// </summary>
    private void EndWatchOfSend()
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

        if (nowMs >= _sendLookMs && IsTakingTooSlowly(nowMs))
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
    /// The first look only takes the measure. Whatever was taken before it is not known, and counted in the peer's favour; but the credit
    /// is one for all that the connection sends, and from then on its sends are measured from their first byte to their last.
    /// </summary>
    private bool IsTakingTooSlowly(long nowMs)
    {
        long taken = BytesTaken();
        bool isTooSlow = _sendHasCredit && _sendRate!.IsTooSlow(nowMs, taken);
        if (!_sendHasCredit)
        {
            _sendHasCredit = true;
            _sendRate ??= new RateWatch();
            _sendRate.Begin(nowMs, Reactor.WriteStallMs, Limits.WriteBytesPerSecond, taken);
        }

        _sendLookMs = _sendRate!.NextLookMs;
        return isTooSlow;
    }

    /// <summary>A unix socket tells how long its queue is; what went through it before, the completions do.</summary>
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
