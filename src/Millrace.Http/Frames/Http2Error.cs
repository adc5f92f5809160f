namespace Millrace.Http;

/// <summary>Why a stream or a connection ends, RFC 9113 section 7. Unknown codes of a peer are treated as any other.</summary>
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
