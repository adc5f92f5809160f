namespace Millrace.Engine.Connections;

/// <summary>
/// A connection's deadlines. One timer, set lazily: moving a deadline later is one store per request and leaves the timer where it is; when
/// it fires, it checks all deadlines and is set to the nearest. Reactor thread.
/// </summary>
internal sealed class ConnectionTimers(Connection connection)
{
    /// <summary>How long a new connection has for its first request when the group stops; a served client has sent it by then.</summary>
    private const int FirstRequestMs = 500;

    /// <summary>The delay before a send is retried for which the kernel had no memory.</summary>
    private const int SendRetryMs = 50;

    private long _readDeadlineMs;
    private long _readCheckMs;
    private long _firstRequestDeadlineMs;
    private long _sendCheckMs;
    private long _sendRetryMs;

    /// <summary>When the last send ended; <see cref="long.MaxValue"/> while one is in flight.</summary>
    private long _sendEndedMs;
    private bool _sendHasCredit;

    /// <summary>Created on first use, which most connections never reach, and kept with the slot.</summary>
    private TransferRateLimit? _readRate;
    private TransferRateLimit? _sendRate;

    public long TimerMs { get; private set; }

    public long LingerDeadlineMs { get; private set; }

    /// <summary>The one deadline of all filters.</summary>
    public long FilterDeadlineMs { get; private set; }

    public bool IsSendDelayed => _sendRetryMs != long.MaxValue;

    /// <summary>
    /// A closing connection has no deadlines but the retry of its cancels: a send that was retried then would not be cancelled.
    /// </summary>
    private bool HasDeadlines => connection.Phase is > ConnectionPhase.Free and < ConnectionPhase.Closing;

    public void Reset()
    {
        TimerMs = _readDeadlineMs = _readCheckMs = _firstRequestDeadlineMs = long.MaxValue;
        _sendCheckMs = _sendRetryMs = LingerDeadlineMs = FilterDeadlineMs = long.MaxValue;
        _sendEndedMs = -1;
        _sendHasCredit = false;
    }

    public void OnTimer(long nowMs)
    {
        TimerMs = long.MaxValue;
        if (HasDeadlines)
        {
            CheckFilters(nowMs);
            CheckSend(nowMs);
            CheckLinger(nowMs);
            CheckRead(nowMs);
        }
        else if (connection.Phase == ConnectionPhase.Closing)
        {
            connection.Ending.CheckCancels(nowMs);
        }

        WakeAt(NearestDeadlineMs());
    }

    public void WakeAt(long atMs)
    {
        if (atMs < TimerMs)
        {
            TimerMs = atMs;
            connection.Reactor.Timers.Schedule(connection.Slot, atMs);
        }
    }

    public long NearestDeadlineMs()
    {
        if (!HasDeadlines)
        {
            return connection.Phase == ConnectionPhase.Closing ? connection.Ending.CancelAgainMs : long.MaxValue;
        }

        long nearest = connection.Reader.IsWaitingOrIdle
            ? Math.Min(Math.Min(_readDeadlineMs, _readCheckMs), _firstRequestDeadlineMs)
            : long.MaxValue;
        nearest = Math.Min(nearest, FilterDeadlineMs);
        nearest = connection.Sender.IsIdle ? nearest : Math.Min(nearest, Math.Min(_sendCheckMs, _sendRetryMs));
        return connection.Phase == ConnectionPhase.Lingering ? Math.Min(nearest, LingerDeadlineMs) : nearest;
    }

    public void SetReadDeadline(long atMs)
    {
        _readCheckMs = long.MaxValue;
        _readDeadlineMs = atMs;
        if (connection.Reader.IsWaiting)
        {
            WakeAt(atMs);
        }
    }

    public void SetReadRate(int bytesPerSecond, TimeSpan window)
    {
        _readRate ??= new TransferRateLimit();
        _readRate.Begin(connection.Reactor.NowMs, (long)Math.Ceiling(window.TotalMilliseconds), bytesPerSecond, connection.Receiver.Bytes);
        _readCheckMs = _readRate.NextCheckMs;
        if (connection.Reader.IsWaiting)
        {
            WakeAt(_readCheckMs);
        }
    }

    /// <summary>A wait for input begins. A read within a request has no first-request deadline.</summary>
    public void BeginRead(bool idle)
    {
        _firstRequestDeadlineMs = idle ? _firstRequestDeadlineMs : long.MaxValue;
        WakeAt(Math.Min(_readDeadlineMs, _readCheckMs));
    }

    public void BeginIdle() => WakeAt(_readDeadlineMs);

    public void ClearReadDeadline() => _readDeadlineMs = long.MaxValue;

    public void SetFirstRequestDeadline()
    {
        _firstRequestDeadlineMs = connection.Reactor.NowMs + FirstRequestMs;
        WakeAt(_firstRequestDeadlineMs);
    }

    public void SetLingerDeadline(long fromNowMs)
    {
        LingerDeadlineMs = connection.Reactor.NowMs + fromNowMs;
        WakeAt(LingerDeadlineMs);
    }

    public void SetFilterDeadline(long atMs)
    {
        FilterDeadlineMs = atMs;
        WakeAt(atMs);
    }

    /// <summary>
    /// Starts the rate check of a send. Sends that follow one another without a pause are measured together: a peer that takes one piece
    /// after another, each just in time, is slow nevertheless. Most sends end before the first check and so cost no system call.
    /// </summary>
    public void BeginSend()
    {
        long nowMs = connection.Reactor.NowMs;
        if (_sendEndedMs < nowMs)
        {
            _sendCheckMs = nowMs + (connection.Reactor.WriteStallMs / 4);
            if (_sendHasCredit)
            {
                _sendRate!.Resume(nowMs, connection.Sender.BytesTakenByPeer());
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
    public void EndSend()
    {
        if (_sendEndedMs != long.MaxValue)
        {
            return;
        }

        _sendEndedMs = connection.Reactor.NowMs;
        if (_sendHasCredit)
        {
            _sendRate!.Settle(_sendEndedMs, connection.Sender.BytesTakenByPeer());
        }
    }

    public void DelaySend()
    {
        _sendRetryMs = connection.Reactor.NowMs + SendRetryMs;
        WakeAt(_sendRetryMs);
    }

    private void CheckFilters(long nowMs)
    {
        if (nowMs >= FilterDeadlineMs)
        {
            FilterDeadlineMs = long.MaxValue;
            connection.Filters.OnDeadline();
        }
    }

    private void CheckSend(long nowMs)
    {
        if (connection.Sender.IsIdle)
        {
            return;
        }

        if (nowMs >= _sendCheckMs && IsTakingTooSlowly(nowMs))
        {
            connection.Reactor.Counters.Stalled++;
            connection.Abort();
        }
        else if (!connection.Sender.IsInFlight && nowMs >= _sendRetryMs)
        {
            _sendRetryMs = long.MaxValue;
            connection.Sender.Submit();
        }
    }

    /// <summary>
    /// The first check only records the count: what was taken before is unknown and counts in the peer's favour. This credit is given once
    /// per connection; from then on its sends are measured from their first byte to their last.
    /// </summary>
    private bool IsTakingTooSlowly(long nowMs)
    {
        long taken = connection.Sender.BytesTakenByPeer();
        bool isTooSlow = _sendHasCredit && _sendRate!.IsTooSlow(nowMs, taken);
        if (!_sendHasCredit)
        {
            _sendHasCredit = true;
            _sendRate ??= new TransferRateLimit();
            int bytesPerSecond = connection.Listener.IsOutbound ? 0 : connection.Limits.WriteBytesPerSecond;
            _sendRate.Begin(nowMs, connection.Reactor.WriteStallMs, bytesPerSecond, taken);
        }

        _sendCheckMs = _sendRate!.NextCheckMs;
        return isTooSlow;
    }

    private void CheckLinger(long nowMs)
    {
        if (connection.Phase == ConnectionPhase.Lingering && nowMs >= LingerDeadlineMs)
        {
            connection.Ending.BeginClose();
        }
    }

    private void CheckRead(long nowMs)
    {
        if (!connection.Reader.IsWaitingOrIdle)
        {
            return;
        }

        if (nowMs >= _readDeadlineMs || IsSendingTooSlowly(nowMs))
        {
            connection.Reader.TimeOut();
        }
        else if (nowMs >= _firstRequestDeadlineMs)
        {
            _firstRequestDeadlineMs = long.MaxValue;
            if (connection.Reader.IsBetweenRequests)
            {
                connection.Reader.EndPause();
            }
        }
    }

    private bool IsSendingTooSlowly(long nowMs)
    {
        if (nowMs < _readCheckMs)
        {
            return false;
        }

        bool isTooSlow = _readRate!.IsTooSlow(nowMs, connection.Receiver.Bytes);
        _readCheckMs = _readRate.NextCheckMs;
        return isTooSlow;
    }
}
