using System.Diagnostics;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;

namespace Millrace.HttpServer.Http2;

/// <content>Ends streams and the connection (RFC 9113, sections 5.4 and 6.8): in order, for errors, and for lack of progress.</content>
internal sealed partial class Http2Session
{
    private readonly TransferRateLimit _windowWatch = new();
    private readonly long _checkMs;
    private bool _hasPreface;
    private bool _isWatched;
    private long _beganAtMs;
    private long _settingsSentAtMs;
    private long _frameBeganAtMs;
    private long _blockBeganAtMs;
    private long _idleSinceMs;
    private long _noticedAtMs;
    private long _checkAtMs;
    private long _lastCheckMs;
    private long _sentAtCheck;

    /// <summary>
    /// How much of the output the client had taken at the last check, up to the last DATA frame: responses to its own PINGs after that are
    /// not progress.
    /// </summary>
    private long _acknowledgedBytes;

    private static ReadOnlySpan<byte> DrainPing => "draining"u8;

    private long HeadMs => (long)_reactorState.Limits.Head.TotalMilliseconds;

    /// <summary>Ends a response that is written completely.</summary>
    private void EndResponse(Http2Stream stream)
    {
        Debug.Assert(!stream.IsQueued && stream.Body.Remaining == 0);
        stream.State = SendState.Idle;
        stream.IsAnswered = true;
        EndExchange(stream, ResponseEnd.Whole);
        _resets.Earn(1);
        _overheadFrames.Earn(4);
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
        else if (stream.IsBodyAbandoned)
        {
            End(stream, Http2Error.NoError);
        }
    }

    /// <summary>Resets a stream before both sides are complete.</summary>
    private void End(Http2Stream stream, Http2Error error)
    {
        WriteReset(stream.Id, error);
        Close(stream);
    }

    /// <summary>Resets a stream for a client's error. Errors are as cheap to cause as resets, and are charged equally.</summary>
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

    /// <summary>Removes a stream. Its resources are released at once, or when the kernel has finished a read.</summary>
    private void Close(Http2Stream stream)
    {
        _streams.Remove(stream);
        EndExchange(stream, ResponseEnd.Cut);
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
            _reactorState.Http2.Return(stream);
        }

        _idleSinceMs = NowMs;
    }

    private void EndExchange(Http2Stream stream, ResponseEnd end)
    {
        if (stream.Exchange is { } exchange)
        {
            stream.Exchange = null;
            _reactorState.Recorder!.End(_connection, exchange, end);
        }
    }

    /// <summary>Ends the connection for an error: GOAWAY names the last request that may have been served.</summary>
    private void Fail(Http2Error error)
    {
        if (!IsOver)
        {
            WriteGoAway(Math.Min(_history.LastId, _lastServedId), error);
            _phase = SessionPhase.Over;
        }
    }

    /// <summary>Refuses a connection beyond a limit: none of its requests were processed, so the client may send them again.</summary>
    public static void Refuse(Connection connection)
    {
        connection.Advance(FrameWriter.Settings(connection.GetSpan(FrameHeader.Size), []));
        connection.Advance(FrameWriter.GoAway(connection.GetSpan(FrameWriter.GoAwayBytes), lastStreamId: 0, Http2Error.NoError));
    }

    private void WriteGoAway(int lastStreamId, Http2Error error) =>
        _connection.Advance(FrameWriter.GoAway(_connection.GetSpan(FrameWriter.GoAwayBytes), lastStreamId, error));

    /// <summary>
    /// Begins to drain when the group stops. The client is asked to open no more streams, and requests that are in transit are still
    /// served: otherwise the client would have to repeat them (section 6.8).
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

    /// <summary>The next time at which the session must check its deadlines.</summary>
    private long NextDeadlineMs()
    {
        long at = _streams.Count == 0 ? _idleSinceMs + _reactorState.KeepAliveMs : _checkAtMs;
        at = _phase == SessionPhase.Preface ? Math.Min(at, _beganAtMs + HeadMs) : at;
        at = _frameBeganAtMs != 0 ? Math.Min(at, _frameBeganAtMs + HeadMs) : at;
        at = _blockStreamId != 0 ? Math.Min(at, _blockBeganAtMs + HeadMs) : at;
        at = _settingsSentAtMs != 0 ? Math.Min(at, SettingsDueMs) : at;
        return _phase == SessionPhase.Noticed ? Math.Min(at, NoticeEndsAtMs) : at;
    }

    private long SettingsDueMs => _settingsSentAtMs + (long)_limits.SettingsAck.TotalMilliseconds;

    private long NoticeEndsAtMs => _noticedAtMs + (long)_limits.DrainNotice.TotalMilliseconds;

    /// <summary>Checks the deadlines of a client that sends without a pause: then no wait for input times out.</summary>
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
        else if (_streams.Count == 0 && now >= _idleSinceMs + _reactorState.KeepAliveMs)
        {
            EndIdle();
        }

        if (_phase == SessionPhase.Noticed && now >= NoticeEndsAtMs)
        {
            EndDrainNotice();
        }

        if (_streams.Count > 0 && now >= _checkAtMs && !IsOver)
        {
            CheckStreams();
            _checkAtMs = now + _checkMs;
        }
    }

    private void EndIdle()
    {
        if (_connection.UnsentBytes > 0)
        {
            // A client that still receives the last response is not idle.
            _idleSinceMs = NowMs;
        }
        else
        {
            Fail(Http2Error.NoError);
        }
    }

    /// <summary>
    /// Ends streams that make no progress because the client sends no body or opens no window, as if its socket took nothing.
    /// </summary>
    private void CheckStreams()
    {
        bool waitsForConnection = false;
        bool isClientReading = IsClientReading();
        for (int i = _streams.Count - 1; i >= 0; i--)
        {
            Http2Stream stream = _streams.All[i];
            waitsForConnection |= stream.State == SendState.ConnectionWindow;
            if (stream.State == SendState.StreamWindow && IsTooSlow(stream, isClientReading))
            {
                End(stream, Http2Error.Cancel);
            }
            else
            {
                stream.IsWatched &= IsBlockedByClient(stream.State, isClientReading);
                if (!stream.IsReceived
                    && (NowMs - stream.ReceivedAtMs >= _reactorState.Limits.ReceiveStall.TotalMilliseconds
                        || NowMs - stream.BeganAtMs >= _reactorState.Limits.Body.TotalMilliseconds))
                {
                    AbandonBody(stream);
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
        else if (isClientReading && IsInTransit(_dataEndsAt, _sentBytes - _sentAtCheck))
        {
            _windowWatch.Resume(NowMs, _sentBytes);
        }
        else if (_windowWatch.IsTooSlow(NowMs, _sentBytes))
        {
            Fail(Http2Error.EnhanceYourCalm);
        }

        _sentAtCheck = _sentBytes;
    }

    /// <summary>Whether the client has taken data at the required rate since the last check, over all streams.</summary>
    private bool IsClientReading()
    {
        long before = _acknowledgedBytes;
        _acknowledgedBytes = Math.Max(before, Math.Min(_connection.Sender.AcknowledgedBytes(), _dataEndsAt));
        long bytes = _acknowledgedBytes - before;
        long ms = NowMs - _lastCheckMs;
        _lastCheckMs = NowMs;
        return bytes > 0 && bytes * 1000 >= ms * _connection.Reactor.Limits.WriteBytesPerSecond;
    }

    /// <summary>
    /// Whether a stream counts as blocked between checks. A stream that waits for its own window now and for the connection's at the next
    /// check was blocked all the time, unless the client took data of others: otherwise a client could alternate between the two windows
    /// and escape both rate limits.
    /// </summary>
    private static bool IsBlockedByClient(SendState state, bool isClientReading) =>
        state == SendState.StreamWindow || (!isClientReading && state is SendState.ConnectionWindow or SendState.ReadAhead);

    /// <summary>
    /// Whether data is in transit before the position. A client opens a window for data it has received: while it still receives earlier
    /// data, the clock stops. This holds only if nothing was sent since the last check; otherwise a client that opens a window a little
    /// before each check would never time out.
    /// </summary>
    private bool IsInTransit(long endsAt, long sentSinceCheck) => sentSinceCheck == 0 && _acknowledgedBytes < endsAt;

    private bool IsTooSlow(Http2Stream stream, bool isClientReading)
    {
        bool isTooSlow = false;
        if (!stream.IsWatched)
        {
            stream.IsWatched = true;
            BeginWatch(stream.WindowWatch ??= new TransferRateLimit(), stream.SentBytes);
        }
        else if (isClientReading && IsInTransit(stream.EndsAt, stream.SentBytes - stream.SentAtCheck))
        {
            stream.WindowWatch!.Resume(NowMs, stream.SentBytes);
        }
        else
        {
            isTooSlow = stream.WindowWatch!.IsTooSlow(NowMs, stream.SentBytes);
        }

        stream.SentAtCheck = stream.SentBytes;
        return isTooSlow;
    }

    private void BeginWatch(TransferRateLimit watch, long bytes) =>
        watch.Begin(NowMs, _connection.Reactor.WriteStallMs, _connection.Reactor.Limits.WriteBytesPerSecond, bytes);
}
