using System.Diagnostics;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;

namespace Millrace.HttpServer.Http2;

/// <content>Processes received frames (RFC 9113, sections 4 to 6).</content>
internal sealed partial class Http2Session
{
    /// <summary>A DATA frame below this size costs more than it brings, unless it is the last.</summary>
    private const int TinyDataBytes = 64;

    /// <summary>SETTINGS bytes charged as one frame: ten settings, each of which may change the windows of all streams.</summary>
    private const int SettingsBytesPerFrame = 10 * Setting.Size;

    private TokenBucket _overheadFrames;
    private TokenBucket _resets;
    private bool _hasInputEnded;

    /// <summary>Whether no frames are processed because the client does not take the output that it causes.</summary>
    private bool _isInputPaused;

    /// <summary>How many body bytes the client may send on all streams.</summary>
    private int _receiveWindow = DefaultWindowBytes;

    /// <summary>Processes the frames in the input; true if there may be more for another iteration.</summary>
    private bool Receive()
    {
        for (int taken = 1; ; taken++)
        {
            if (IsOver || UpdateInputPause() || !TryTake())
            {
                return false;
            }

            if (taken % FramesPerCheck == 0 && _connection.Reactor.Budget.IsSliceOver)
            {
                return true;
            }
        }
    }

    private bool UpdateInputPause()
    {
        bool wasPaused = _isInputPaused;
        _isInputPaused = _connection.UnsentBytes > 2 * _reactorState.Limits.UnsentBytesMax || ExchangeRecorder.IsFull(_connection);
        if (wasPaused && !_isInputPaused)
        {
            // Timeouts of a partly received frame or block restart, because the input was not read meanwhile.
            _frameBeganAtMs = _frameBeganAtMs == 0 ? 0 : NowMs;
            _blockBeganAtMs = NowMs;
        }

        return _isInputPaused;
    }

    private bool TryTake()
    {
        ReadOnlySpan<byte> input = _connection.Input;
        if (_phase == SessionPhase.Preface && !_hasPreface)
        {
            return TryTakePreface(input);
        }

        if (input.Length < FrameHeader.Size)
        {
            return NeedsMore(input);
        }

        FrameHeader header = FrameHeader.Read(input);

        // Checked first: within a field block, an error of another frame would otherwise end only a stream (section 6.3).
        Http2Fault fault = CheckOrder(header);
        if (fault.IsNone)
        {
            fault = FrameRules.Judge(header, FrameHeader.DefaultLengthMax);
        }

        if (!fault.IsNone && fault.Scope == FaultScope.Connection)
        {
            Fail(fault.Error);
            return false;
        }

        int bytes = FrameHeader.Size + header.Length;
        if (input.Length < bytes)
        {
            return NeedsMore(input);
        }

        _frameBeganAtMs = 0;
        if (!fault.IsNone)
        {
            Reset(header.StreamId, fault.Error);
        }
        else
        {
            Take(header, input[FrameHeader.Size..bytes]);
        }

        _connection.Consume(bytes);
        return true;
    }

    private bool TryTakePreface(ReadOnlySpan<byte> input)
    {
        switch (ConnectionPreface.Match(input))
        {
            case PrefaceMatch.Whole:
                _connection.Consume(ConnectionPreface.Size);
                _hasPreface = true;
                return true;
            case PrefaceMatch.Partial:
                return NeedsMore(input);
            default:
                Fail(Http2Error.ProtocolError);
                return false;
        }
    }

    /// <summary>The time limit of a frame counts from its first byte.</summary>
    private bool NeedsMore(ReadOnlySpan<byte> input)
    {
        if (!input.IsEmpty && _frameBeganAtMs == 0)
        {
            _frameBeganAtMs = NowMs;
        }

        return false;
    }

    /// <summary>Checks that the first frame is SETTINGS (section 3.4), and that a field block is not interrupted (section 4.3).</summary>
    private Http2Fault CheckOrder(in FrameHeader header)
    {
        bool isFitting = _phase == SessionPhase.Preface
            ? header.Type == FrameType.Settings && !header.Has(FrameFlags.Ack)
            : _blockStreamId == 0
                ? header.Type != FrameType.Continuation
                : header.Type == FrameType.Continuation && header.StreamId == _blockStreamId;
        return isFitting ? default : Http2Fault.OfConnection(Http2Error.ProtocolError);
    }

    private void Take(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        Http2Fault fault = header.Type switch
        {
            FrameType.Data => TakeData(header, payload),
            FrameType.Headers => TakeHeaders(header, payload),
            FrameType.Continuation => TakeContinuation(header, payload),
            FrameType.RstStream => TakeReset(header, payload),
            FrameType.WindowUpdate => TakeWindowUpdate(header, payload),
            _ => TakeOverhead(header, payload),
        };
        if (fault.IsNone || IsOver)
        {
            return;
        }

        if (fault.Scope == FaultScope.Connection)
        {
            Fail(fault.Error);
        }
        else
        {
            Reset(header.StreamId, fault.Error);
        }
    }

    /// <summary>Processes frames that ask for no resource.</summary>
    private Http2Fault TakeOverhead(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        int cost = header.Type == FrameType.Settings ? 1 + (header.Length / SettingsBytesPerFrame) : 1;
        if (!_overheadFrames.TrySpend(cost, NowMs))
        {
            return Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
        }

        switch (header.Type)
        {
            case FrameType.Settings:
                return TakeSettings(header, payload);
            case FrameType.Ping:
                return TakePing(header, payload);
            case FrameType.PriorityUpdate:
                return TakePriorityUpdate(header, payload);
            case FrameType.Priority:
                _ = FramePayload.TryPriority(header, payload, out Http2Fault fault);
                return fault;
            case FrameType.GoAway:
                // GOAWAY only announces that the client opens no more streams; the open ones are still answered.
                _ = FramePayload.TryGoAway(header, payload, out _, out _, out fault);
                return fault;
            default:
                // Section 5.5: unknown types are ignored.
                return default;
        }
    }

    private Http2Fault TakeSettings(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!FramePayload.TrySettings(header, payload, out SettingList settings, out Http2Fault fault))
        {
            return fault;
        }

        if (header.Has(FrameFlags.Ack))
        {
            _settingsSentAtMs = 0;
            _decoder.OnSettingsAcknowledged();
            return default;
        }

        _phase = _phase == SessionPhase.Preface ? SessionPhase.Serving : _phase;
        foreach (Setting setting in settings)
        {
            fault = setting.Id switch
            {
                SettingId.InitialWindowSize => SetInitialWindow((int)setting.Value),
                SettingId.HeaderTableSize => SetTable(setting.Value),
                _ => default,
            };
            if (!fault.IsNone)
            {
                return fault;
            }
        }

        _connection.Advance(FrameWriter.SettingsAck(_connection.GetSpan(FrameWriter.SettingsAckBytes)));
        return default;
    }

    /// <summary>
    /// The encoder uses no dynamic table; a client that reduces the table size gets one update, in the next block (RFC 7541, section 4.2).
    /// </summary>
    private Http2Fault SetTable(uint bytes)
    {
        _owesTableUpdate |= bytes < _tableBytes;
        _tableBytes = bytes;
        return default;
    }

    private Http2Fault TakePing(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!FramePayload.TryPing(header, payload, out ReadOnlySpan<byte> opaque, out Http2Fault fault))
        {
            return fault;
        }

        if (!header.Has(FrameFlags.Ack))
        {
            _connection.Advance(FrameWriter.PingAck(_connection.GetSpan(FrameWriter.PingBytes), opaque));
        }
        else if (opaque.SequenceEqual(DrainPing))
        {
            // Everything that the client sent before it received the GOAWAY has arrived by now.
            EndDrainNotice();
        }

        return default;
    }

    /// <summary>Counts and drops body data, which no response needs.</summary>
    private Http2Fault TakeData(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!FramePayload.TryData(header, payload, out ReadOnlySpan<byte> data, out Http2Fault fault))
        {
            return fault;
        }

        bool isLast = header.Has(FrameFlags.EndStream);
        Http2Stream? stream = _streams.Find(header.StreamId);
        bool isOverhead = data.Length < TinyDataBytes && !(isLast && stream is not null);
        if (isOverhead && !_overheadFrames.TrySpend(1, NowMs))
        {
            return Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
        }

        // The whole frame counts, whatever happens to its stream (section 6.9). Data is dropped at once, so the window is restored at once,
        // and no client can send more than the limit.
        Debug.Assert(header.Length <= _receiveWindow, "half a window is more than a frame");
        _receiveWindow -= header.Length;
        if (_receiveWindow < DefaultWindowBytes / 2)
        {
            GrowWindow(streamId: 0, DefaultWindowBytes - _receiveWindow);
            _receiveWindow = DefaultWindowBytes;
        }

        if (stream is null)
        {
            return FaultOfClosed(header.StreamId);
        }

        return stream.IsReceived
            ? Http2Fault.OfStream(Http2Error.StreamClosed)
            : TakeBody(stream, header.Length, data.Length, isLast);
    }

    private Http2Fault TakeBody(Http2Stream stream, int frameBytes, int dataBytes, bool isLast)
    {
        if (frameBytes > stream.ReceiveWindow)
        {
            return Http2Fault.OfStream(Http2Error.FlowControlError);
        }

        stream.ReceiveWindow -= frameBytes;
        stream.ReceivedBytes += dataBytes;
        stream.ReceivedAtMs = NowMs;
        if (isLast)
        {
            return EndRequest(stream);
        }

        if (stream.IsBodyAbandoned)
        {
            // Data that was in transit when the window closed.
            return default;
        }

        if (stream.ContentLength >= 0 && stream.ReceivedBytes > stream.ContentLength)
        {
            return Http2Fault.OfStream(Http2Error.ProtocolError);
        }

        // Beyond the skip limit the window stays closed; the stream ends after its response.
        if (stream.ReceivedBytes > _reactorState.Limits.SkippedBodyBytesMax)
        {
            AbandonBody(stream);
        }
        else if (stream.ReceiveWindow < DefaultWindowBytes / 2)
        {
            GrowWindow(stream.Id, DefaultWindowBytes - stream.ReceiveWindow);
            stream.ReceiveWindow = DefaultWindowBytes;
        }

        return default;
    }

    private void GrowWindow(int streamId, int bytes) => _connection.Advance(
        FrameWriter.WindowUpdate(_connection.GetSpan(FrameWriter.WindowUpdateBytes), streamId, bytes));

    private Http2Fault TakeReset(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!FramePayload.TryRstStream(header, payload, out _, out Http2Fault fault))
        {
            return fault;
        }

        if (_streams.Find(header.StreamId) is Http2Stream stream)
        {
            Close(stream);
            return _resets.TrySpend(1, NowMs) ? default : Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
        }

        // The reset of a closed stream crossed the server's end of the stream.
        return !_overheadFrames.TrySpend(1, NowMs) ? Http2Fault.OfConnection(Http2Error.EnhanceYourCalm)
            : IsIdle(header.StreamId) ? Http2Fault.OfConnection(Http2Error.ProtocolError)
            : default;
    }

    private Http2Fault TakeWindowUpdate(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!_overheadFrames.TrySpend(1, NowMs))
        {
            return Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
        }

        if (header.StreamId != 0 && IsIdle(header.StreamId))
        {
            return Http2Fault.OfConnection(Http2Error.ProtocolError);
        }

        if (!FramePayload.TryWindowUpdate(header, payload, out int increment, out Http2Fault fault))
        {
            return fault;
        }

        return header.StreamId == 0 ? GrowConnectionWindow(increment)
            : _streams.Find(header.StreamId) is Http2Stream stream ? GrowStreamWindow(stream, increment)
            : default;
    }

    /// <summary>
    /// Applies a PRIORITY_UPDATE (RFC 9218, section 7.1). Priorities that precede their requests are kept for as many requests as may be
    /// open.
    /// </summary>
    private Http2Fault TakePriorityUpdate(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!FramePayload.TryPriorityUpdate(header, payload, out int streamId, out ReadOnlySpan<byte> value, out Http2Fault fault))
        {
            return fault;
        }

        if ((streamId & 1) == 0)
        {
            return Http2Fault.OfConnection(Http2Error.ProtocolError);
        }

        StreamPriority priority = StreamPriority.Parse(value);
        if (_streams.Find(streamId) is Http2Stream stream)
        {
            Prioritize(stream, priority);
        }
        else if (IsIdle(streamId))
        {
            _earlyPriorities ??= new (int, StreamPriority)[_limits.StreamsMax];
            _earlyPriorities[(streamId >> 1) % _earlyPriorities.Length] = (streamId, priority);
        }

        return default;
    }

    /// <summary>
    /// Whether the client has not opened this stream yet. Streams with even numbers would be the server's, which opens none.
    /// </summary>
    private bool IsIdle(int streamId) => (streamId & 1) == 0 || streamId > _history.LastId;

    /// <summary>The error for a frame whose stream is no longer there (section 5.1).</summary>
    private Http2Fault FaultOfClosed(int streamId) =>
        IsIdle(streamId) ? Http2Fault.OfConnection(Http2Error.ProtocolError)
        : MayBeLate(streamId) ? default
        : Http2Fault.OfStream(Http2Error.StreamClosed);

    /// <summary>
    /// Whether a frame for a closed stream may have been sent before the client knew of the stream's end, or of the connection's. No clock
    /// can bound that delay (section 5.1).
    /// </summary>
    private bool MayBeLate(int streamId) =>
        streamId > _lastServedId || _history.Of(streamId) is StreamOutcome.Reset or StreamOutcome.Forgotten;
}
