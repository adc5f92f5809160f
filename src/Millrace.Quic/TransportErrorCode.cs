namespace Millrace.Quic;

/// <summary>
/// Transport error codes (RFC 9000, section 20.1; RFC 9368, section 8). A TLS alert is <see cref="CryptoError"/> plus its number.
/// </summary>
internal enum TransportErrorCode : ushort
{
    NoError = 0x00,
    InternalError = 0x01,
    ConnectionRefused = 0x02,
    FlowControlError = 0x03,
    StreamLimitError = 0x04,
    StreamStateError = 0x05,
    FinalSizeError = 0x06,
    FrameEncodingError = 0x07,
    TransportParameterError = 0x08,
    ConnectionIdLimitError = 0x09,
    ProtocolViolation = 0x0A,
    InvalidToken = 0x0B,
    ApplicationError = 0x0C,
    CryptoBufferExceeded = 0x0D,
    KeyUpdateError = 0x0E,
    AeadLimitReached = 0x0F,
    NoViablePath = 0x10,
    VersionNegotiationError = 0x11,

    /// <summary>The first of the 256 codes of TLS alerts.</summary>
    CryptoError = 0x100,
}
