namespace Millrace.Http;

/// <summary>Why the fields of an HTTP/2 request are refused: see <see cref="FieldsRefusals"/> for what comes of it.</summary>
internal enum FieldsRefusal : byte
{
    None,

    // Malformed, RFC 9113 section 8.1.1.
    UnknownPseudoField,
    RepeatedPseudoField,
    MisplacedPseudoField,
    MissingPseudoField,
    ForbiddenPseudoField,
    UpperCaseName,
    BadFieldName,
    BadFieldValue,
    ConnectionField,
    BadMethod,
    BadScheme,
    BadPath,
    BadAuthority,
    OtherHost,
    BadHost,
    BadContentLength,
    RepeatedContentLength,

    // 400
    UnknownScheme,
    MissingAuthority,

    // 414
    PathTooLong,

    // 431
    HeadTooLarge,
    TooManyFields,
}
