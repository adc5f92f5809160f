namespace Millrace.Http;

/// <summary>
/// The first bytes of a client on an HTTP/2 connection, RFC 9113 section 3.4. An HTTP/1.1 server reads them as a request with a method and
/// a version that it must refuse, so a client with a wrong assumption is notified at once.
/// </summary>
internal static class ConnectionPreface
{
    public const int Size = 24;

    public static ReadOnlySpan<byte> Bytes => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8;

    /// <summary>Compares all bytes of a connection received so far. No bytes are a partial match.</summary>
    public static PrefaceMatch Match(ReadOnlySpan<byte> input)
    {
        int bytes = Math.Min(input.Length, Size);
        return !Bytes.StartsWith(input[..bytes]) ? PrefaceMatch.No
            : bytes == Size ? PrefaceMatch.Whole
            : PrefaceMatch.Partial;
    }
}

/// <summary>The result of comparing the first bytes of a connection with the HTTP/2 preface.</summary>
internal enum PrefaceMatch : byte
{
    /// <summary>A byte differs: this is not HTTP/2.</summary>
    No,

    /// <summary>All bytes so far belong to the preface, which is not complete yet.</summary>
    Partial,

    /// <summary>The input starts with the whole preface.</summary>
    Whole,
}
