namespace Millrace.Http;

/// <summary>
/// Checks a frame by its header alone, so that the payload of an invalid frame need not be awaited: its length and its stream, RFC 9113
/// sections 4.2 and 6. The session checks what depends on the state of a stream.
/// </summary>
internal static class FrameRules
{
    /// <summary>The bytes of PRIORITY, and of the fields with the same meaning in a HEADERS frame.</summary>
    public const int PriorityBytes = 5;

    public const int ErrorCodeBytes = 4;

    public const int PingBytes = 8;

    /// <summary>The last stream and the error code of GOAWAY; debug data may follow.</summary>
    public const int GoAwayBytes = 8;

    public const int WindowUpdateBytes = 4;

    /// <summary>The stream of a PRIORITY_UPDATE.</summary>
    public const int PrioritizedBytes = 4;

    /// <summary>
    /// Checks a frame of a peer whose frames may have at most <paramref name="lengthMax"/> bytes. A longer frame ends the connection,
    /// whatever its type (section 4.2 requires it for most): otherwise its payload would have to be skipped.
    /// </summary>
    public static Http2Fault Check(in FrameHeader header, int lengthMax) => header.Length > lengthMax
        ? Http2Fault.OfConnection(Http2Error.FrameSizeError)
        : Check(header);

    /// <summary>Checks all but the length limit.</summary>
    public static Http2Fault Check(in FrameHeader header)
    {
        if (!IsStreamFitting(header))
        {
            return Http2Fault.OfConnection(Http2Error.ProtocolError);
        }

        if (IsLengthFitting(header))
        {
            return default;
        }

        // Section 6.3: a PRIORITY of the wrong length is an error of its stream only.
        return new Http2Fault(Http2Error.FrameSizeError, header.Type == FrameType.Priority ? FaultScope.Stream : FaultScope.Connection);
    }

    private static bool IsStreamFitting(in FrameHeader header) => header.Type switch
    {
        FrameType.Data or FrameType.Headers or FrameType.Priority or FrameType.RstStream or FrameType.Continuation => header.StreamId != 0,
        FrameType.Settings or FrameType.Ping or FrameType.GoAway or FrameType.PriorityUpdate => header.StreamId == 0,

        // Section 8.4: a client cannot push.
        FrameType.PushPromise => false,
        _ => true,
    };

    private static bool IsLengthFitting(in FrameHeader header)
    {
        int length = header.Length;
        return header.Type switch
        {
            FrameType.Data or FrameType.Headers => length >= PadLengthBytes(header) + PriorityFieldBytes(header),
            FrameType.Priority => length == PriorityBytes,
            FrameType.RstStream => length == ErrorCodeBytes,
            FrameType.Settings => header.Has(FrameFlags.Ack) ? length == 0 : length % Setting.Size == 0,
            FrameType.Ping => length == PingBytes,
            FrameType.GoAway => length >= GoAwayBytes,
            FrameType.WindowUpdate => length == WindowUpdateBytes,
            FrameType.PriorityUpdate => length >= PrioritizedBytes,
            _ => true,
        };
    }

    public static int PadLengthBytes(in FrameHeader header) => header.Has(FrameFlags.Padded) ? 1 : 0;

    public static int PriorityFieldBytes(in FrameHeader header) =>
        header.Type == FrameType.Headers && header.Has(FrameFlags.Priority) ? PriorityBytes : 0;
}

/// <summary>The types of HTTP/2 frames, RFC 9113 section 6 and RFC 9218 section 7.1. Ignore frames of other types.</summary>
internal enum FrameType : byte
{
    Data = 0x00,
    Headers = 0x01,
    Priority = 0x02,
    RstStream = 0x03,
    Settings = 0x04,
    PushPromise = 0x05,
    Ping = 0x06,
    GoAway = 0x07,
    WindowUpdate = 0x08,
    Continuation = 0x09,
    PriorityUpdate = 0x10,
}

/// <summary>The error of a frame, and what it ends. The default means no error.</summary>
internal readonly record struct Http2Fault(Http2Error Error, FaultScope Scope)
{
    public bool IsNone => Error == Http2Error.NoError;

    public static Http2Fault OfConnection(Http2Error error) => new(error, FaultScope.Connection);

    public static Http2Fault OfStream(Http2Error error) => new(error, FaultScope.Stream);
}

/// <summary>What an error of the peer ends, RFC 9113 section 5.4.</summary>
internal enum FaultScope : byte
{
    /// <summary>GOAWAY, and the connection is closed: the two sides no longer agree on its state.</summary>
    Connection,

    /// <summary>RST_STREAM for the frame's stream; the others continue.</summary>
    Stream,
}

/// <summary>Why a stream or a connection ends, RFC 9113 section 7. Unknown codes of a peer get no special treatment.</summary>
internal enum Http2Error : uint
{
    NoError = 0x00,
    ProtocolError = 0x01,
    InternalError = 0x02,
    FlowControlError = 0x03,
    SettingsTimeout = 0x04,
    StreamClosed = 0x05,
    FrameSizeError = 0x06,
    RefusedStream = 0x07,
    Cancel = 0x08,
    CompressionError = 0x09,
    ConnectError = 0x0A,
    EnhanceYourCalm = 0x0B,
    InadequateSecurity = 0x0C,
    Http11Required = 0x0D,
}
