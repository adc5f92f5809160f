namespace Millrace.Http;

/// <summary>The responses to refused heads.</summary>
internal static class HeadRefusals
{
    public static int StatusOf(HeadRefusal refusal) => refusal switch
    {
        HeadRefusal.None => throw new ArgumentOutOfRangeException(nameof(refusal), "A head that was not refused has no such status."),
        HeadRefusal.RequestLineTooLong => 414,
        HeadRefusal.HeadTooLarge or HeadRefusal.TooManyFields => 431,
        HeadRefusal.MethodTooLong or HeadRefusal.UnknownTransferCoding => 501,
        HeadRefusal.VersionNotSupported => 505,
        _ => 400,
    };

    /// <summary>
    /// Whether such a request is malformed in HTTP/2 (RFC 9113 section 8.1.1) and HTTP/3 (RFC 9114 section 4.1.2): its stream ends with
    /// PROTOCOL_ERROR or H3_MESSAGE_ERROR, without a response.
    /// </summary>
    public static bool IsMalformed(HeadRefusal refusal) => refusal switch
    {
        HeadRefusal.None or HeadRefusal.UnknownScheme => false,
        HeadRefusal.BadAuthority or HeadRefusal.MissingHost or HeadRefusal.RepeatedHost or HeadRefusal.BadHost => false,
        _ => StatusOf(refusal) == 400,
    };
}

/// <summary>
/// Why the head of a request, or of an upstream's response, is refused. Over HTTP/1.1 the connection then closes, because the start of the
/// next message is not known.
/// </summary>
internal enum HeadRefusal : byte
{
    None,

    // 400: the request line.
    TooManyEmptyLines,
    BareCr,
    BareLf,
    BadMethod,
    BadTarget,
    MissingVersion,
    BadVersion,

    // 400: field lines.
    ObsFold,
    WhitespaceBeforeFirstField,
    EmptyFieldName,
    SpaceBeforeColon,
    MissingColon,
    BadFieldName,
    BadFieldValue,

    // 400: the combination of fields.
    MissingHost,
    RepeatedHost,
    BadHost,
    BadContentLength,
    RepeatedContentLength,
    BadTransferEncoding,
    RepeatedChunked,
    ChunkedNotFinal,
    TransferEncodingWithContentLength,
    TransferEncodingOnHttp10,

    // 400: the fields of a request of HTTP/2 (RFC 9113 section 8) or HTTP/3 (RFC 9114 section 4).
    UnknownPseudoField,
    RepeatedPseudoField,
    MisplacedPseudoField,
    MissingPseudoField,
    ForbiddenPseudoField,
    UpperCaseName,
    ConnectionField,
    BadScheme,
    BadPath,
    OtherHost,
    UnknownScheme,
    BadAuthority,

    // 414
    RequestLineTooLong,

    // 431
    HeadTooLarge,
    TooManyFields,

    // 501
    MethodTooLong,
    UnknownTransferCoding,

    // 505
    VersionNotSupported,

    // Responses of an upstream only.
    BadStatusLine,
    BodyNotAllowed,
}
