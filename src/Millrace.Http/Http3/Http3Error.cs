namespace Millrace.Http;

/// <summary>
/// Why a stream or a connection ends, as QUIC's application error code: RFC 9114 section 8.1 and RFC 9204 section 6. Unknown codes of a
/// peer get no special treatment.
/// </summary>
internal static class Http3Error
{
    /// <summary>No error was found. Never sent.</summary>
    public const long None = 0;

    public const long NoError = 0x0100;
    public const long GeneralProtocolError = 0x0101;
    public const long InternalError = 0x0102;
    public const long StreamCreationError = 0x0103;
    public const long ClosedCriticalStream = 0x0104;
    public const long FrameUnexpected = 0x0105;
    public const long FrameError = 0x0106;
    public const long ExcessiveLoad = 0x0107;
    public const long IdError = 0x0108;
    public const long SettingsError = 0x0109;
    public const long MissingSettings = 0x010A;
    public const long RequestRejected = 0x010B;
    public const long RequestCancelled = 0x010C;
    public const long RequestIncomplete = 0x010D;
    public const long MessageError = 0x010E;
    public const long ConnectError = 0x010F;
    public const long VersionFallback = 0x0110;
    public const long QpackDecompressionFailed = 0x0200;
    public const long QpackEncoderStreamError = 0x0201;
    public const long QpackDecoderStreamError = 0x0202;
}

/// <summary>
/// The types of unidirectional streams, the first integer of each: RFC 9114 section 6.2 and RFC 9204 section 4.2. A stream of another type
/// is not an error.
/// </summary>
internal static class Http3StreamType
{
    public const long Control = 0x00;
    public const long Push = 0x01;
    public const long QpackEncoder = 0x02;
    public const long QpackDecoder = 0x03;
}
