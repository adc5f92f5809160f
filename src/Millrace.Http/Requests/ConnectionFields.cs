namespace Millrace.Http;

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
