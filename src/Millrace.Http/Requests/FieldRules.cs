namespace Millrace.Http;

/// <summary>
/// Checks a single field of a request by RFC 9113 sections 8.2.1 and 8.2.2, except pseudo-fields. Beyond these sections it is as strict as
/// with HTTP/1.1: names are tokens, and values have no control characters.
/// </summary>
internal static class FieldRules
{
    /// <param name="name">The name.</param>
    /// <param name="value">The value.</param>
    /// <param name="staticIndex">The index of the name in the static table, all of whose names are valid; otherwise 0.</param>
    public static FieldsRefusal Judge(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        if (staticIndex == 0 && (name.IsEmpty || name.ContainsAnyExcept(ByteClasses.LowerToken)))
        {
            return name.ContainsAnyInRange((byte)'A', (byte)'Z') ? FieldsRefusal.UpperCaseName : FieldsRefusal.BadFieldName;
        }

        if (value.ContainsAnyExcept(ByteClasses.FieldValue) || HasWhitespaceAround(value))
        {
            return FieldsRefusal.BadFieldValue;
        }

        bool isForConnection = ConnectionFields.Contains(name)
            || (name.SequenceEqual("te"u8) && !Words.EqualsIgnoreCase(value, "trailers"u8));
        return isForConnection ? FieldsRefusal.ConnectionField : FieldsRefusal.None;
    }

    private static bool HasWhitespaceAround(ReadOnlySpan<byte> value)
        => !value.IsEmpty && (value[0] is (byte)' ' or (byte)'\t' || value[^1] is (byte)' ' or (byte)'\t');
}

/// <summary>
/// The HTTP/1.1 connection fields, which no HTTP/2 message may have (RFC 9113 section 8.2.2). TE is one too, except with the value that
/// requests may give it.
/// </summary>
internal static class ConnectionFields
{
    /// <summary>Whether this name, in lower case, is one of them.</summary>
    public static bool Contains(ReadOnlySpan<byte> name) => name.Length switch
    {
        7 => name.SequenceEqual("upgrade"u8),
        10 => name.SequenceEqual("connection"u8) || name.SequenceEqual("keep-alive"u8),
        16 => name.SequenceEqual("proxy-connection"u8),
        17 => name.SequenceEqual("transfer-encoding"u8),
        _ => false,
    };
}

/// <summary>The trailer fields of a request, RFC 9113 section 8.1: checked, and dropped like HTTP/1.1 trailers.</summary>
/// <param name="bytesMax">The maximum size of a head: a byte of a block can refer to an entry of 4 KB, and each would be checked.</param>
internal struct TrailerFields(int bytesMax) : IHpackSink
{
    private long _bytesLeft = bytesMax;

    /// <summary>The first error: the trailers are too large, malformed, or valid.</summary>
    public FieldsRefusal Refusal { get; private set; }

    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, FieldSensitivity sensitivity, int staticIndex)
    {
        if (Refusal == FieldsRefusal.None)
        {
            _bytesLeft -= name.Length + value.Length;
            Refusal = _bytesLeft < 0 ? FieldsRefusal.HeadTooLarge
                : !name.IsEmpty && name[0] == ':' ? FieldsRefusal.MisplacedPseudoField
                : FieldRules.Judge(name, value, staticIndex);
        }
    }
}

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
