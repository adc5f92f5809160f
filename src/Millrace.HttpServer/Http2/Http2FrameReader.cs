using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// Reads the frames of one connection (RFC 9113, sections 4 to 6), and applies each to what it is about. Reactor thread only.
/// </summary>
internal sealed class Http2FrameReader(
    Connection connection,
    SessionReactorState reactorState,
    Http2Lifecycle lifecycle,
    FieldBlockReader blocks,
    Http2Streams streams,
    SendQueue queue,
    Http2ResponseWriter responses,
    Http2Requests requests,
    Http2Proxy proxy,
    TokenBucket overheadFrames)
{
    /// <summary>Frames processed before the session checks whether other connections should continue: one request has fewer.</summary>
    private const int FramesPerCheck = 8;

    /// <summary>A DATA frame below this size costs more than it brings, unless it is the last.</summary>
    private const int TinyDataBytes = 64;

    /// <summary>SETTINGS bytes charged as one frame: ten settings, each of which may change the windows of all streams.</summary>
    private const int SettingsBytesPerFrame = 10 * Setting.Size;

    /// <summary>
    /// Data that upstreams have not taken, beyond which the window of the connection stays closed: with a smaller limit, one slow upstream
    /// would delay the requests to others.
    /// </summary>
    private const int KeptBytesMax = 1024 * 1024;

    /// <summary>The window of a connection with uploads: some streams at once.</summary>
    private const int UploadsWindowBytes = 1024 * 1024;

    private bool _hasPreface;
    private long _frameDueMs = long.MaxValue;

    /// <summary>How many body bytes the client may send on all streams.</summary>
    private int _receiveWindow = SendQueue.DefaultWindowBytes;

    /// <summary>Whether no frames are processed because the client does not take the output that it causes.</summary>
    public bool IsPaused { get; private set; }

    /// <summary>When a partly received frame, or field block, must be complete; <see cref="long.MaxValue"/> if there is none.</summary>
    public long DueMs => Math.Min(blocks.DueMs, _frameDueMs);

    /// <summary>Processes the frames in the input; true if there may be more for another iteration.</summary>
    public bool Receive()
    {
        for (int taken = 1; ; taken++)
        {
            if (lifecycle.IsOver || UpdatePause() || !TryTake())
            {
                return false;
            }

            if (taken % FramesPerCheck == 0 && connection.Reactor.Budget.IsSliceOver)
            {
                return true;
            }
        }
    }

    private bool UpdatePause()
    {
        bool wasPaused = IsPaused;
        IsPaused = connection.UnsentBytes > 2 * reactorState.Limits.UnsentBytesMax || ExchangeRecorder.IsFull(connection);
        if (wasPaused && !IsPaused)
        {
            // Timeouts of a partly received frame or block restart, because the input was not read meanwhile.
            _frameDueMs = _frameDueMs == long.MaxValue ? long.MaxValue : reactorState.DueMs(reactorState.Limits.Head);
            blocks.RestartTime();
        }

        return IsPaused;
    }

    private bool TryTake()
    {
        ReadOnlySpan<byte> input = connection.Input;
        if (!_hasPreface)
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
            fault = FrameRules.Check(header, FrameHeader.DefaultLengthMax);
        }

        if (!fault.IsNone && fault.Scope == FaultScope.Connection)
        {
            lifecycle.Fail(fault.Error);
            return false;
        }

        int bytes = FrameHeader.Size + header.Length;
        if (input.Length < bytes)
        {
            return NeedsMore(input);
        }

        _frameDueMs = long.MaxValue;
        if (fault.IsNone)
        {
            fault = Take(header, input[FrameHeader.Size..bytes]);
        }

        if (!fault.IsNone && fault.Scope == FaultScope.Stream)
        {
            streams.ResetForError(header.StreamId, fault.Error);
        }
        else if (!fault.IsNone)
        {
            lifecycle.Fail(fault.Error);
        }

        connection.Consume(bytes);
        return true;
    }

    private bool TryTakePreface(ReadOnlySpan<byte> input)
    {
        switch (ConnectionPreface.Match(input))
        {
            case PrefaceMatch.Whole:
                connection.Consume(ConnectionPreface.Size);
                _hasPreface = true;
                return true;
            case PrefaceMatch.Partial:
                return NeedsMore(input);
            default:
                lifecycle.Fail(Http2Error.ProtocolError);
                return false;
        }
    }

    /// <summary>The time limit of a frame counts from its first byte.</summary>
    private bool NeedsMore(ReadOnlySpan<byte> input)
    {
        if (!input.IsEmpty && _frameDueMs == long.MaxValue)
        {
            _frameDueMs = reactorState.DueMs(reactorState.Limits.Head);
        }

        return false;
    }

    /// <summary>Checks that the first frame is SETTINGS (section 3.4), and that a field block is not interrupted (section 4.3).</summary>
    private Http2Fault CheckOrder(in FrameHeader header)
    {
        bool isFitting = lifecycle.IsInPreface
            ? header.Type == FrameType.Settings && !header.Has(FrameFlags.Ack)
            : blocks.StreamId == 0
                ? header.Type != FrameType.Continuation
                : header.Type == FrameType.Continuation && header.StreamId == blocks.StreamId;
        return isFitting ? default : Http2Fault.OfConnection(Http2Error.ProtocolError);
    }

    private Http2Fault Take(in FrameHeader header, ReadOnlySpan<byte> payload) => header.Type switch
    {
        FrameType.Data => TakeData(header, payload),
        FrameType.Headers => TakeHeaders(header, payload),
        FrameType.Continuation => TakeContinuation(header, payload),
        FrameType.RstStream => TakeReset(header.StreamId),
        FrameType.WindowUpdate => TakeWindowUpdate(header, payload),
        _ => TakeControlFrame(header, payload),
    };

    private Http2Fault TakeHeaders(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!FramePayload.TryUnpad(header, payload, out ReadOnlySpan<byte> fragment, out Http2Fault fault))
        {
            return fault;
        }

        // Section 5.1.1: a client's streams have odd numbers.
        return (header.StreamId & 1) == 0 ? Http2Fault.OfConnection(Http2Error.ProtocolError)
            : header.Has(FrameFlags.EndHeaders) ? requests.TakeBlock(header.StreamId, header.Flags, fragment)
            : blocks.Begin(header, fragment);
    }

    private Http2Fault TakeContinuation(in FrameHeader header, ReadOnlySpan<byte> fragment)
    {
        Http2Fault fault = blocks.Add(fragment);
        if (fault.IsNone && header.Has(FrameFlags.EndHeaders))
        {
            fault = requests.TakeBlock(blocks.Complete(), blocks.Flags, blocks.Bytes);
            blocks.ReleaseBuffer();
        }

        return fault;
    }

    /// <summary>Processes frames that ask for no resource.</summary>
    private Http2Fault TakeControlFrame(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        int cost = header.Type == FrameType.Settings ? 1 + (header.Length / SettingsBytesPerFrame) : 1;
        if (!overheadFrames.TrySpend(cost, reactorState.NowMs))
        {
            return Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
        }

        // PRIORITY is deprecated (section 5.3.2). GOAWAY only announces that the client opens no more streams; the open ones are still
        // answered. Unknown types are ignored (section 5.5).
        return header.Type switch
        {
            FrameType.Settings => TakeSettings(header, payload),
            FrameType.Ping => TakePing(header, payload),
            FrameType.PriorityUpdate => TakePriorityUpdate(header, payload),
            _ => default,
        };
    }

    private Http2Fault TakeSettings(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (header.Has(FrameFlags.Ack))
        {
            lifecycle.OnSettingsAcknowledged();
            return default;
        }

        lifecycle.OnSettings();
        foreach (Setting setting in new SettingList(payload))
        {
            Http2Fault fault = setting.Fault;
            if (fault.IsNone && setting.Id == SettingId.HeaderTableSize)
            {
                responses.SetTable(setting.Value);
            }
            else if (fault.IsNone && setting.Id == SettingId.InitialWindowSize)
            {
                fault = queue.SetInitialWindow((int)setting.Value);
            }

            if (!fault.IsNone)
            {
                return fault;
            }
        }

        connection.Advance(FrameWriter.SettingsAck(connection.GetSpan(FrameWriter.SettingsAckBytes)));
        return default;
    }

    private Http2Fault TakePing(in FrameHeader header, ReadOnlySpan<byte> opaque)
    {
        if (header.Has(FrameFlags.Ack))
        {
            lifecycle.OnPingAcknowledged(opaque);
        }
        else
        {
            connection.Advance(FrameWriter.PingAck(connection.GetSpan(FrameWriter.PingBytes), opaque));
        }

        return default;
    }

    /// <summary>Counts and drops body data, which no response needs.</summary>
    private Http2Fault TakeData(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!FramePayload.TryUnpad(header, payload, out ReadOnlySpan<byte> data, out Http2Fault fault))
        {
            return fault;
        }

        bool isLast = header.Has(FrameFlags.EndStream);
        Http2Stream? stream = streams.Find(header.StreamId);
        bool isOverhead = data.Length < TinyDataBytes && !(isLast && stream is not null);
        if (isOverhead && !overheadFrames.TrySpend(1, reactorState.NowMs))
        {
            return Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
        }

        // The whole frame counts, whatever happens to its stream (section 6.9).
        if (header.Length > _receiveWindow)
        {
            return Http2Fault.OfConnection(Http2Error.FlowControlError);
        }

        _receiveWindow -= header.Length;
        RestoreWindow();
        if (stream is null)
        {
            return streams.FaultOfClosed(header.StreamId);
        }

        return stream.Request.IsComplete
            ? Http2Fault.OfStream(Http2Error.StreamClosed)
            : TakeBody(stream, header.Length, data, isLast);
    }

    /// <summary>
    /// Opens the window of the connection again. Data is dropped or passed on at once; the streams' own windows limit what is kept.
    /// </summary>
    public void RestoreWindow()
    {
        if (streams.KeptBytes <= KeptBytesMax)
        {
            _receiveWindow = Restore(
                _receiveWindow, streamId: 0, streams.HasUploads ? UploadsWindowBytes : SendQueue.DefaultWindowBytes);
        }
    }

    private Http2Fault TakeBody(Http2Stream stream, int frameBytes, ReadOnlySpan<byte> data, bool isLast)
    {
        Http2Fault fault = stream.TakeData(frameBytes, data.Length, reactorState.NowMs);
        if (fault.IsNone && MayNeedBody(stream))
        {
            return proxy.TakeData(stream, data, isLast);
        }

        if (!fault.IsNone || isLast)
        {
            return fault.IsNone ? streams.EndRequest(stream) : fault;
        }

        if (stream.Request.IsAbandoned)
        {
            // Data that was in transit when the window closed.
            return default;
        }

        // Beyond the skip limit the window stays closed; the stream ends after its response.
        if (stream.Request.Bytes > reactorState.Limits.SkippedBodyBytesMax)
        {
            streams.AbandonBody(stream);
        }
        else
        {
            stream.ReceiveWindow = Restore(stream.ReceiveWindow, stream.Id);
        }

        return default;
    }

    /// <summary>Whether an upstream gets the body, or may get it when the request is planned.</summary>
    private bool MayNeedBody(Http2Stream stream) => stream.IsProxied || (stream.Preparation is not null && reactorState.HasProxies);

    /// <summary>Opens a window for the client again after half of it is used; returns its size.</summary>
    private int Restore(int window, int streamId, int most = SendQueue.DefaultWindowBytes)
    {
        if (window >= most / 2)
        {
            return window;
        }

        Span<byte> room = connection.GetSpan(FrameWriter.WindowUpdateBytes);
        connection.Advance(FrameWriter.WindowUpdate(room, streamId, most - window));
        return most;
    }

    /// <summary>The reset of a closed stream crossed the server's end of the stream.</summary>
    private Http2Fault TakeReset(int streamId) => streams.Find(streamId) is Http2Stream stream ? streams.OnReset(stream)
        : !overheadFrames.TrySpend(1, reactorState.NowMs) ? Http2Fault.OfConnection(Http2Error.EnhanceYourCalm)
        : streams.IsIdle(streamId) ? Http2Fault.OfConnection(Http2Error.ProtocolError)
        : default;

    private Http2Fault TakeWindowUpdate(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!overheadFrames.TrySpend(1, reactorState.NowMs))
        {
            return Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
        }

        if (header.StreamId != 0 && streams.IsIdle(header.StreamId))
        {
            return Http2Fault.OfConnection(Http2Error.ProtocolError);
        }

        if (!FramePayload.TryWindowUpdate(header, payload, out int increment, out Http2Fault fault))
        {
            return fault;
        }

        return header.StreamId == 0 ? queue.GrowConnectionWindow(increment)
            : streams.Find(header.StreamId) is Http2Stream stream ? queue.GrowStreamWindow(stream, increment)
            : default;
    }

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
        if (streams.Find(streamId) is Http2Stream stream)
        {
            queue.Prioritize(stream, priority);
        }
        else if (streams.IsIdle(streamId))
        {
            requests.Prioritize(streamId, priority);
        }

        return default;
    }
}
