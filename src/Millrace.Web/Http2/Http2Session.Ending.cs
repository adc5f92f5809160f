using System.Diagnostics;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.Web.Exchanges;

namespace Millrace.Web.Http2;

/// <content>Ends of streams and of the connection (RFC 9113, sections 5.4 and 6.8): in order, for faults, for want of progress.</content>
internal sealed partial class Http2Session
{
    private readonly RateWatch _windowWatch = new();
    private readonly long _lookMs;
    private bool _hasPreface;
    private bool _isWatched;
    private long _beganAtMs;
    private long _settingsSentAtMs;
    private long _frameBeganAtMs;
    private long _blockBeganAtMs;
    private long _idleSinceMs;
    private long _noticedAtMs;
    private long _lookAtMs;
    private long _lookedAtMs;
    private long _sentAtLook;

    /// <summary>
    /// How much of the output the client had taken at the last look, up to the last data in it: the answers to its own PINGs behind that
    /// are no progress.
    /// </summary>
    private long _acknowledgedBytes;

    private static ReadOnlySpan<byte> DrainPing => "draining"u8;

    private long HeadMs => (long)_bench.Limits.Head.TotalMilliseconds;

    /// <summary>The whole answer is in the output.</summary>
    private void EndAnswer(Http2Stream stream)
    {
        Debug.Assert(!stream.IsQueued && stream.Body.Left == 0);
        stream.State = SendState.Idle;
        stream.IsAnswered = true;
        EndExchange(stream, AnswerEnd.Whole);
        _resets.Earn(1);
        _idleFrames.Earn(4);
        CloseIfDone(stream);
    }

    private void CloseIfDone(Http2Stream stream)
    {
        if (!stream.IsAnswered)
        {
            return;
        }

        if (stream.IsReceived)
        {
            Close(stream);
        }
        else if (stream.IsGivenUp)
        {
            End(stream, Http2Error.NoError);
        }
    }

    /// <summary>Ends a stream before both sides are through.</summary>
    private void End(Http2Stream stream, Http2Error error)
    {
        WriteReset(stream.Id, error);
        Close(stream);
    }

    /// <summary>Ends a stream for a fault of the client's. Faults are as cheap to make as resets, and cost as much.</summary>
    private void Reset(int streamId, Http2Error error)
    {
        if (IsIdle(streamId) || !_resets.TrySpend(1, NowMs))
        {
            Fail(IsIdle(streamId) ? error : Http2Error.EnhanceYourCalm);
        }
        else if (_streams.Find(streamId) is Http2Stream stream)
        {
            End(stream, error);
        }
        else
        {
            WriteReset(streamId, error);
        }
    }

    private void WriteReset(int streamId, Http2Error error)
    {
        _history.NoteReset(streamId);
        _connection.Advance(FrameWriter.RstStream(_connection.GetSpan(FrameWriter.RstStreamBytes), streamId, error));
    }

    /// <summary>Forgets a stream. What it holds is given back at once, or when the kernel has let go of it.</summary>
    private void Close(Http2Stream stream)
    {
        _streams.Remove(stream);
        EndExchange(stream, AnswerEnd.Cut);
        if (stream.IsQueued)
        {
            _ready.Remove(stream);
        }

        if (stream.Preparation is not null)
        {
            _preparations--;
        }

        CountReadAhead(stream, 0);
        if (stream.HasRead)
        {
            _readsEnded--;
            stream.Body.EndRead(stream.TakeRead());
        }

        if (stream.Body.IsReading)
        {
            stream.IsGone = true;
        }
        else
        {
            _bench.Http2.Return(stream);
        }

        _idleSinceMs = NowMs;
    }

    private void EndExchange(Http2Stream stream, AnswerEnd end)
    {
        if (stream.Exchange is { } exchange)
        {
            stream.Exchange = null;
            _bench.Ledger!.End(_connection, exchange, end);
        }
    }

    /// <summary>Ends the connection for a fault: the client is told the last request that may have been served.</summary>
    private void Fail(Http2Error error)
    {
        if (!IsOver)
        {
            WriteGoAway(Math.Min(_history.LastId, _lastServedId), error);
            _phase = SessionPhase.Over;
        }
    }

    /// <summary>A connection beyond a limit: its requests were not looked at, and may be sent again elsewhere, or later.</summary>
    public static void Refuse(Connection connection)
    {
        connection.Advance(FrameWriter.Settings(connection.GetSpan(FrameHeader.Size), []));
        connection.Advance(FrameWriter.GoAway(connection.GetSpan(FrameWriter.GoAwayBytes), lastStreamId: 0, Http2Error.NoError));
    }

    private void WriteGoAway(int lastStreamId, Http2Error error) =>
        _connection.Advance(FrameWriter.GoAway(_connection.GetSpan(FrameWriter.GoAwayBytes), lastStreamId, error));

    /// <summary>
    /// The group stops. The client is asked to open no more streams, and those that are under way to us are served still: a request that
    /// is never looked at would have to be repeated by it (section 6.8).
    /// </summary>
    private void BeginDrain()
    {
        _phase = SessionPhase.Noticed;
        _noticedAtMs = NowMs;
        WriteGoAway(int.MaxValue, Http2Error.NoError);
        _connection.Advance(FrameWriter.Ping(_connection.GetSpan(FrameWriter.PingBytes), DrainPing));
    }

    private void EndDrainNotice()
    {
        if (_phase == SessionPhase.Noticed)
        {
            _phase = SessionPhase.Draining;
            _lastServedId = _history.LastId;
            WriteGoAway(_history.LastId, Http2Error.NoError);
        }
    }

    /// <summary>When the session has to look at the time again.</summary>
    private long NextDeadlineMs()
    {
        long at = _streams.Count == 0 ? _idleSinceMs + _bench.KeepAliveMs : _lookAtMs;
        at = _phase == SessionPhase.Preface ? Math.Min(at, _beganAtMs + HeadMs) : at;
        at = _frameBeganAtMs != 0 ? Math.Min(at, _frameBeganAtMs + HeadMs) : at;
        at = _blockStreamId != 0 ? Math.Min(at, _blockBeganAtMs + HeadMs) : at;
        at = _settingsSentAtMs != 0 ? Math.Min(at, SettingsDueMs) : at;
        return _phase == SessionPhase.Noticed ? Math.Min(at, NoticeEndsAtMs) : at;
    }

    private long SettingsDueMs => _settingsSentAtMs + (long)_limits.SettingsAck.TotalMilliseconds;

    private long NoticeEndsAtMs => _noticedAtMs + (long)_limits.DrainNotice.TotalMilliseconds;

    /// <summary>Who sends without a pause is not waited for, and so no wait ends with a deadline.</summary>
    private void CheckDeadlinesIfDue()
    {
        if (NowMs >= NextDeadlineMs())
        {
            CheckDeadlines();
        }
    }

    private void CheckDeadlines()
    {
        long now = NowMs;
        if (_settingsSentAtMs != 0 && now >= SettingsDueMs)
        {
            Fail(Http2Error.SettingsTimeout);
        }
        else if ((_phase == SessionPhase.Preface && now >= _beganAtMs + HeadMs)
            || (_frameBeganAtMs != 0 && now >= _frameBeganAtMs + HeadMs)
            || (_blockStreamId != 0 && now >= _blockBeganAtMs + HeadMs))
        {
            Fail(Http2Error.EnhanceYourCalm);
        }
        else if (_streams.Count == 0 && now >= _idleSinceMs + _bench.KeepAliveMs)
        {
            EndIdle();
        }

        if (_phase == SessionPhase.Noticed && now >= NoticeEndsAtMs)
        {
            EndDrainNotice();
        }

        if (_streams.Count > 0 && now >= _lookAtMs && !IsOver)
        {
            LookAtStreams();
            _lookAtMs = now + _lookMs;
        }
    }

    private void EndIdle()
    {
        if (_connection.UnsentBytes > 0)
        {
            // Whoever still takes the last answer has not been idle.
            _idleSinceMs = NowMs;
        }
        else
        {
            Fail(Http2Error.NoError);
        }
    }

    /// <summary>Ends what makes no progress because the client sends no body, or opens no window: as if its socket took nothing.</summary>
    private void LookAtStreams()
    {
        bool waitsForConnection = false;
        bool isTaking = IsTaking();
        for (int i = _streams.Count - 1; i >= 0; i--)
        {
            Http2Stream stream = _streams.All[i];
            waitsForConnection |= stream.State == SendState.ConnectionWindow;
            if (stream.State == SendState.StreamWindow && IsTooSlow(stream, isTaking))
            {
                End(stream, Http2Error.Cancel);
            }
            else
            {
                stream.IsWatched &= IsHeldUpByClient(stream.State, isTaking);
                if (!stream.IsReceived
                    && (NowMs - stream.ReceivedAtMs >= _bench.Limits.ReceiveStall.TotalMilliseconds
                        || NowMs - stream.BeganAtMs >= _bench.Limits.Body.TotalMilliseconds))
                {
                    GiveUpRequest(stream);
                }
            }
        }

        if (!waitsForConnection)
        {
            _isWatched = false;
        }
        else if (!_isWatched)
        {
            _isWatched = true;
            BeginWatch(_windowWatch, _sentBytes);
        }
        else if (isTaking && IsOnItsWay(_dataEndsAt, _sentBytes - _sentAtLook))
        {
            _windowWatch.Resume(NowMs, _sentBytes);
        }
        else if (_windowWatch.IsTooSlow(NowMs, _sentBytes))
        {
            Fail(Http2Error.EnhanceYourCalm);
        }

        _sentAtLook = _sentBytes;
    }

    /// <summary>Whether the client has taken as much as it must since the last look, of all streams together.</summary>
    private bool IsTaking()
    {
        long before = _acknowledgedBytes;
        _acknowledgedBytes = Math.Max(before, Math.Min(_connection.AcknowledgedBytes(), _dataEndsAt));
        long bytes = _acknowledgedBytes - before;
        long ms = NowMs - _lookedAtMs;
        _lookedAtMs = NowMs;
        return bytes > 0 && bytes * 1000 >= ms * _connection.Reactor.Limits.WriteBytesPerSecond;
    }

    /// <summary>
    /// A stream that waits for its own window now and for the connection's at the next look has waited all the while, unless others were
    /// taken: else who closes the two by turns would not be seen by either watch.
    /// </summary>
    private static bool IsHeldUpByClient(SendState state, bool isTaking) =>
        state == SendState.StreamWindow || (!isTaking && state is SendState.ConnectionWindow or SendState.ReadAhead);

    /// <summary>
    /// A client opens a window for what it has got: while it takes what is before that, the clock stands still. Only between two looks at
    /// which it was on its way, or who opens a little before each would be waited for without end.
    /// </summary>
    private bool IsOnItsWay(long endsAt, long sentSinceLook) => sentSinceLook == 0 && _acknowledgedBytes < endsAt;

    private bool IsTooSlow(Http2Stream stream, bool isTaking)
    {
        bool isTooSlow = false;
        if (!stream.IsWatched)
        {
            stream.IsWatched = true;
            BeginWatch(stream.WindowWatch ??= new RateWatch(), stream.SentBytes);
        }
        else if (isTaking && IsOnItsWay(stream.EndsAt, stream.SentBytes - stream.SentAtLook))
        {
            stream.WindowWatch!.Resume(NowMs, stream.SentBytes);
        }
        else
        {
            isTooSlow = stream.WindowWatch!.IsTooSlow(NowMs, stream.SentBytes);
        }

        stream.SentAtLook = stream.SentBytes;
        return isTooSlow;
    }

    private void BeginWatch(RateWatch watch, long bytes) =>
        watch.Begin(NowMs, _connection.Reactor.WriteStallMs, _connection.Reactor.Limits.WriteBytesPerSecond, bytes);
}
