namespace Millrace.Http;

/// <summary>How the head of a response is written.</summary>
internal enum HeadCoding : byte
{
    /// <summary>As lines of text, RFC 9112.</summary>
    Http1,

    /// <summary>As a field block of HPACK, RFC 7541.</summary>
    Hpack,
}
