namespace Millrace.Http;

/// <summary>Why a request's head is refused. The connection closes after the answer: where the next request starts is not known.</summary>
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

    // 400: what the fields say together.
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

    // 414
    RequestLineTooLong,

    // 431
    HeadTooLarge,
    TooManyFields,

    // 501
    UnknownTransferCoding,

    // 505
    VersionNotSupported,
}
