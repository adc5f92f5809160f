namespace Millrace.Http;

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
