namespace Millrace.Http;

/// <summary>Recognizes field names, which are case-insensitive (RFC 9110 section 5.1): by length, then by words.</summary>
internal static class FieldNames
{
    public static FieldName Recognize(ReadOnlySpan<byte> name) => name.Length switch
    {
        4 => Words.EqualsIgnoreCase(name, "host"u8) ? FieldName.Host : FieldName.Unknown,
        5 => Words.EqualsIgnoreCase(name, "range"u8) ? FieldName.Range : FieldName.Unknown,
        6 => OfSix(name),
        7 => Words.EqualsIgnoreCase(name, "referer"u8) ? FieldName.Referer : FieldName.Unknown,
        8 => Words.EqualsIgnoreCase(name, "if-range"u8) ? FieldName.IfRange
            : Words.EqualsIgnoreCase(name, "if-match"u8) ? FieldName.IfMatch
            : Words.EqualsIgnoreCase(name, "priority"u8) ? FieldName.Priority
            : FieldName.Unknown,
        9 => Words.EqualsIgnoreCase(name, "forwarded"u8) ? FieldName.Forwarded : FieldName.Unknown,
        10 => Words.EqualsIgnoreCase(name, "connection"u8) ? FieldName.Connection
            : Words.EqualsIgnoreCase(name, "user-agent"u8) ? FieldName.UserAgent
            : FieldName.Unknown,
        13 => Words.EqualsIgnoreCase(name, "if-none-match"u8) ? FieldName.IfNoneMatch
            : Words.EqualsIgnoreCase(name, "authorization"u8) ? FieldName.Authorization
            : FieldName.Unknown,
        14 => Words.EqualsIgnoreCase(name, "content-length"u8) ? FieldName.ContentLength
            : Words.EqualsIgnoreCase(name, "sec-fetch-mode"u8) ? FieldName.SecFetchMode
            : Words.EqualsIgnoreCase(name, "sec-fetch-site"u8) ? FieldName.SecFetchSite
            : FieldName.Unknown,
        15 => Words.EqualsIgnoreCase(name, "accept-encoding"u8) ? FieldName.AcceptEncoding
            : Words.EqualsIgnoreCase(name, "x-forwarded-for"u8) ? FieldName.XForwardedFor
            : FieldName.Unknown,
        17 => Words.EqualsIgnoreCase(name, "if-modified-since"u8) ? FieldName.IfModifiedSince
            : Words.EqualsIgnoreCase(name, "transfer-encoding"u8) ? FieldName.TransferEncoding
            : FieldName.Unknown,
        19 => Words.EqualsIgnoreCase(name, "if-unmodified-since"u8) ? FieldName.IfUnmodifiedSince : FieldName.Unknown,
        20 => Words.EqualsIgnoreCase(name, "available-dictionary"u8) ? FieldName.AvailableDictionary : FieldName.Unknown,
        29 => Words.EqualsIgnoreCase(name, "access-control-request-method"u8)
            ? FieldName.AccessControlRequestMethod
            : FieldName.Unknown,
        _ => FieldName.Unknown,
    };

    private static FieldName OfSix(ReadOnlySpan<byte> name)
        => Words.EqualsIgnoreCase(name, "accept"u8) ? FieldName.Accept
            : Words.EqualsIgnoreCase(name, "cookie"u8) ? FieldName.Cookie
            : Words.EqualsIgnoreCase(name, "origin"u8) ? FieldName.Origin
            : Words.EqualsIgnoreCase(name, "expect"u8) ? FieldName.Expect
            : FieldName.Unknown;
}

/// <summary>
/// The request fields that the server reads, as integers. Those that frame the message or its connection come first (see <see
/// cref="MessageFraming"/>). There are fewer than 64, so that a head stores which it has in one word.
/// </summary>
internal enum FieldName : byte
{
    Unknown,

    Host,
    Connection,
    ContentLength,
    TransferEncoding,
    Expect,

    Accept,
    AcceptEncoding,
    AccessControlRequestMethod,
    Authorization,
    AvailableDictionary,
    Cookie,
    Forwarded,
    IfMatch,
    IfModifiedSince,
    IfNoneMatch,
    IfRange,
    IfUnmodifiedSince,
    Origin,
    Priority,
    Range,
    Referer,
    SecFetchMode,
    SecFetchSite,
    UserAgent,
    XForwardedFor,
}
