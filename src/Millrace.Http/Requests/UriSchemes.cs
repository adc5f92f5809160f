namespace Millrace.Http;

/// <summary>Recognizes the scheme of a target, which is case-insensitive (RFC 3986 section 3.1).</summary>
internal static class UriSchemes
{
    public static UriScheme Of(ReadOnlySpan<byte> text)
        => Words.EqualsIgnoreCase(text, "https"u8) ? UriScheme.Https
            : Words.EqualsIgnoreCase(text, "http"u8) ? UriScheme.Http
            : UriScheme.Unknown;
}

/// <summary>The schemes that an HTTP server supports.</summary>
internal enum UriScheme : byte
{
    Unknown,
    Http,
    Https,
}
