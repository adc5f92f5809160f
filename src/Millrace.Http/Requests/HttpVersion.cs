namespace Millrace.Http;

/// <summary>The version a request is handled as: a minor version above 1 is handled as 1.1 (RFC 9110 section 2.5).</summary>
internal enum HttpVersion : byte
{
    Http10,
    Http11,
}
