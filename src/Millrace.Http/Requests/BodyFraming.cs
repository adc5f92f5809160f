namespace Millrace.Http;

/// <summary>How the body behind a head is delimited, RFC 9112 section 6.3. None also stands for a Content-Length of 0.</summary>
internal enum BodyFraming : byte
{
    None,
    Length,
    Chunked,
}
