namespace Millrace.Http;

/// <summary>The responses to refused fields.</summary>
internal static class FieldsRefusals
{
    /// <summary>Whether the request is malformed: its stream ends with PROTOCOL_ERROR, without a response.</summary>
    public static bool IsMalformed(FieldsRefusal refusal) => refusal is > FieldsRefusal.None and < FieldsRefusal.UnknownScheme;

    /// <summary>The status for a request that is well-formed, but that this server does not serve.</summary>
    public static int StatusOf(FieldsRefusal refusal) => refusal switch
    {
        FieldsRefusal.UnknownScheme or FieldsRefusal.MissingAuthority or FieldsRefusal.BadAuthority or FieldsRefusal.BadHost => 400,
        FieldsRefusal.PathTooLong => 414,
        FieldsRefusal.HeadTooLarge or FieldsRefusal.TooManyFields => 431,
        FieldsRefusal.MethodTooLong => 501,
        _ => throw new ArgumentOutOfRangeException(nameof(refusal), refusal, "Only a well-formed refusal has a status."),
    };
}

/// <summary>Why the fields of an HTTP/2 request are refused; <see cref="FieldsRefusals"/> gives the consequence.</summary>
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
    OtherHost,
    BadContentLength,
    RepeatedContentLength,

    // 400
    UnknownScheme,
    MissingAuthority,
    BadAuthority,
    BadHost,

    // 414
    PathTooLong,

    // 431
    HeadTooLarge,
    TooManyFields,

    // 501
    MethodTooLong,
}
