namespace Millrace.Http;

/// <summary>The content codings a representation is served in (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).</summary>
internal enum ContentCoding : byte
{
    Identity,
    Gzip,
    Brotli,
    Zstd,
}
