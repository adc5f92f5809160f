using System.Diagnostics;
using Millrace.Http;

namespace Millrace.Web.Http2;

/// <content>Frames as they come (RFC 9113, sections 4 to 6): each is judged, and does what it says.</content>
internal sealed partial class Http2Session
{
    /// <summary>Below it a DATA frame brings less than it costs, unless it is the last.</summary>
    private const int TinyDataBytes = 64;

    /// <summary>What SETTINGS may say at the price of a frame: ten settings, each of which may change the windows of all streams.</summary>
    private const int SettingsBytesPerIdleFrame = 10 * Setting.Size;

    private Allowance _idleFrames;
    private Allowance _resets;
    private bool _hasInputEnded;

    /// <summary>Whether no frame is taken because the client does not take what it has caused.</summary>
    private bool _isHeldUp;

    /// <summary>What the client may send of bodies on all streams.</summary>
    private int _receiveWindow = DefaultWindowBytes;

    /// <summary>Takes what frames there are; true where there may be more for another turn.</summary>
    private bool Receive()
    {
        for (int taken = 0; taken < FramesPerTurn; taken++)
        {
            if (IsOver || IsHeldUp() || !TryTake())
            {
                return false;
            }
        }

        return true;
    }

    private bool IsHeldUp()
    {
        bool was = _isHeldUp;
        _isHeldUp = _connection.UnsentBytes > 2 * _bench.Limits.UnsentBytesMax;
        if (was && !_isHeldUp)
        {
            // What was not looked at meanwhile has its time from now on.
            _frameBeganAtMs = _frameBeganAtMs == 0 ? 0 : NowMs;
            _blockBeganAtMs = NowMs;
        }

        return _isHeldUp;
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

        // First of all: within a field block a fault of another frame's own would end a stream only (section 6.3).
        Http2Fault fault = JudgeOrder(header);
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

    /// <summary>The time of a frame counts from its first byte.</summary>
    private bool NeedsMore(ReadOnlySpan<byte> input)
    {
        if (!input.IsEmpty && _frameBeganAtMs == 0)
        {
            _frameBeganAtMs = NowMs;
        }

        return false;
    }

    /// <summary>The first frame is SETTINGS (section 3.4), and a field block is not interrupted (section 4.3).</summary>
    private Http2Fault JudgeOrder(in FrameHeader header)
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
            _ => TakeIdle(header, payload),
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

    /// <summary>What asks for no resource.</summary>
    private Http2Fault TakeIdle(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        int cost = header.Type == FrameType.Settings ? 1 + (header.Length / SettingsBytesPerIdleFrame) : 1;
        if (!_idleFrames.TrySpend(cost, NowMs))
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
                // It asks for no more than what it has asked for; that is still answered.
                _ = FramePayload.TryGoAway(header, payload, out _, out _, out fault);
                return fault;
            default:
                // Section 5.5: what is not known is ignored.
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

    /// <summary>We use no table; a client that allows less than it did is told so once, in the next block (section 4.3.1).</summary>
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
            // What it sent before it knew that we end has come by now.
            EndDrainNotice();
        }

        return default;
    }

    /// <summary>A body nobody asked for: it is counted, and dropped.</summary>
    private Http2Fault TakeData(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!FramePayload.TryData(header, payload, out ReadOnlySpan<byte> data, out Http2Fault fault))
        {
            return fault;
        }

        bool isLast = header.Has(FrameFlags.EndStream);
        Http2Stream? stream = _streams.Find(header.StreamId);
        bool isIdle = data.Length < TinyDataBytes && !(isLast && stream is not null);
        if (isIdle && !_idleFrames.TrySpend(1, NowMs))
        {
            return Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
        }

        // All of the frame counts, whatever becomes of its stream (section 6.9). What is dropped at once is allowed again at once, so that
        // nobody can send too much of it.
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

        if (stream.IsGivenUp)
        {
            // What was under way when its window was closed.
            return default;
        }

        if (stream.ContentLength >= 0 && stream.ReceivedBytes > stream.ContentLength)
        {
            return Http2Fault.OfStream(Http2Error.ProtocolError);
        }

        // Beyond what one is ready to drop the window stays closed; once the answer is through the stream is ended.
        if (stream.ReceivedBytes > _bench.Limits.SkippedBodyBytesMax)
        {
            GiveUpRequest(stream);
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

        // One that is closed already crossed its end.
        return !_idleFrames.TrySpend(1, NowMs) ? Http2Fault.OfConnection(Http2Error.EnhanceYourCalm)
            : IsIdle(header.StreamId) ? Http2Fault.OfConnection(Http2Error.ProtocolError)
            : default;
    }

    private Http2Fault TakeWindowUpdate(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!_idleFrames.TrySpend(1, NowMs))
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
    /// RFC 9218, section 7.1. What is said of a request before it is there is kept for as many of them as may be open: more would be said
    /// in vain.
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
            _saidPriorities ??= new (int, StreamPriority)[_limits.StreamsMax];
            _saidPriorities[(streamId >> 1) % _saidPriorities.Length] = (streamId, priority);
        }

        return default;
    }

    /// <summary>Whether the client has not begun this stream yet. Those with an even number would be ours, and we begin none.</summary>
    private bool IsIdle(int streamId) => (streamId & 1) == 0 || streamId > _history.LastId;

    /// <summary>What a frame deserves whose stream is not there any more (section 5.1).</summary>
    private Http2Fault FaultOfClosed(int streamId) =>
        IsIdle(streamId) ? Http2Fault.OfConnection(Http2Error.ProtocolError)
        : MayBeLate(streamId) ? default
        : Http2Fault.OfStream(Http2Error.StreamClosed);

    /// <summary>
    /// Whether what comes for a stream that is gone may have been sent before the client knew of its end, or of ours. How long that takes
    /// nobody knows, and a clock is no measure of it (section 5.1).
    /// </summary>
    private bool MayBeLate(int streamId) =>
        streamId > _lastServedId || _history.Of(streamId) is StreamFate.Reset or StreamFate.Forgotten;
}
