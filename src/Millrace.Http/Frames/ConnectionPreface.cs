namespace Millrace.Http;

/// <summary>
/// What a client sends first on an HTTP/2 connection, RFC 9113 section 3.4. To a server of HTTP/1.1 it is a request with a method
/// and a version it must refuse, so a client that guessed wrong learns so at once.
/// </summary>
internal static class ConnectionPreface
{
    public const int Size = 24;

    public static ReadOnlySpan<byte> Bytes => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8;

    /// <summary>Compares all that has come of a connection so far. No bytes at all are a partial match.</summary>
    public static PrefaceMatch Match(ReadOnlySpan<byte> input)
    {
        int bytes = Math.Min(input.Length, Size);
        return !Bytes.StartsWith(input[..bytes]) ? PrefaceMatch.No
            : bytes == Size ? PrefaceMatch.Whole
            : PrefaceMatch.Partial;
    }
}
