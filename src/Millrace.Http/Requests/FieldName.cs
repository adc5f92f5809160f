namespace Millrace.Http;

/// <summary>
/// Request fields the server reads, as integers. Those that frame the message or its connection come first
/// (see <see cref="MessageFraming"/>). There are fewer than 64: a head notes which it has in one word.
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
    AccessControlRequestHeaders,
    AccessControlRequestMethod,
    Authorization,
    Cookie,
    Forwarded,
    IfMatch,
    IfModifiedSince,
    IfNoneMatch,
    IfRange,
    IfUnmodifiedSince,
    KeepAlive,
    Origin,
    Priority,
    Range,
    Referer,
    TE,
    Upgrade,
    UserAgent,
    XForwardedFor,
    XForwardedProto,
}
