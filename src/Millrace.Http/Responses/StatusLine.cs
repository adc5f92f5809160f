namespace Millrace.Http;

/// <summary>
/// The status line of a response, ready to copy. A server answers HTTP/1.0 with its own version, too (RFC 9110 section 6.2).
/// </summary>
internal static class StatusLine
{
    /// <summary>The line for a status of RFC 9110 section 15 or RFC 6585; other values are errors of the caller.</summary>
    public static ReadOnlySpan<byte> Of(int status) => Find(status) is { IsEmpty: false } line
        ? line
        : throw new ArgumentOutOfRangeException(nameof(status), status, "No such status in RFC 9110 or RFC 6585.");

    /// <summary>The same; empty for other values, which applications use.</summary>
    public static ReadOnlySpan<byte> Find(int status) => status switch
    {
        100 => "HTTP/1.1 100 Continue\r\n"u8,
        101 => "HTTP/1.1 101 Switching Protocols\r\n"u8,
        200 => "HTTP/1.1 200 OK\r\n"u8,
        201 => "HTTP/1.1 201 Created\r\n"u8,
        202 => "HTTP/1.1 202 Accepted\r\n"u8,
        203 => "HTTP/1.1 203 Non-Authoritative Information\r\n"u8,
        204 => "HTTP/1.1 204 No Content\r\n"u8,
        205 => "HTTP/1.1 205 Reset Content\r\n"u8,
        206 => "HTTP/1.1 206 Partial Content\r\n"u8,
        300 => "HTTP/1.1 300 Multiple Choices\r\n"u8,
        301 => "HTTP/1.1 301 Moved Permanently\r\n"u8,
        302 => "HTTP/1.1 302 Found\r\n"u8,
        303 => "HTTP/1.1 303 See Other\r\n"u8,
        304 => "HTTP/1.1 304 Not Modified\r\n"u8,
        305 => "HTTP/1.1 305 Use Proxy\r\n"u8,
        307 => "HTTP/1.1 307 Temporary Redirect\r\n"u8,
        308 => "HTTP/1.1 308 Permanent Redirect\r\n"u8,
        400 => "HTTP/1.1 400 Bad Request\r\n"u8,
        401 => "HTTP/1.1 401 Unauthorized\r\n"u8,
        402 => "HTTP/1.1 402 Payment Required\r\n"u8,
        403 => "HTTP/1.1 403 Forbidden\r\n"u8,
        404 => "HTTP/1.1 404 Not Found\r\n"u8,
        405 => "HTTP/1.1 405 Method Not Allowed\r\n"u8,
        406 => "HTTP/1.1 406 Not Acceptable\r\n"u8,
        407 => "HTTP/1.1 407 Proxy Authentication Required\r\n"u8,
        408 => "HTTP/1.1 408 Request Timeout\r\n"u8,
        409 => "HTTP/1.1 409 Conflict\r\n"u8,
        410 => "HTTP/1.1 410 Gone\r\n"u8,
        411 => "HTTP/1.1 411 Length Required\r\n"u8,
        412 => "HTTP/1.1 412 Precondition Failed\r\n"u8,
        413 => "HTTP/1.1 413 Content Too Large\r\n"u8,
        414 => "HTTP/1.1 414 URI Too Long\r\n"u8,
        415 => "HTTP/1.1 415 Unsupported Media Type\r\n"u8,
        416 => "HTTP/1.1 416 Range Not Satisfiable\r\n"u8,
        417 => "HTTP/1.1 417 Expectation Failed\r\n"u8,
        421 => "HTTP/1.1 421 Misdirected Request\r\n"u8,
        422 => "HTTP/1.1 422 Unprocessable Content\r\n"u8,
        426 => "HTTP/1.1 426 Upgrade Required\r\n"u8,
        428 => "HTTP/1.1 428 Precondition Required\r\n"u8,
        429 => "HTTP/1.1 429 Too Many Requests\r\n"u8,
        431 => "HTTP/1.1 431 Request Header Fields Too Large\r\n"u8,
        500 => "HTTP/1.1 500 Internal Server Error\r\n"u8,
        501 => "HTTP/1.1 501 Not Implemented\r\n"u8,
        502 => "HTTP/1.1 502 Bad Gateway\r\n"u8,
        503 => "HTTP/1.1 503 Service Unavailable\r\n"u8,
        504 => "HTTP/1.1 504 Gateway Timeout\r\n"u8,
        505 => "HTTP/1.1 505 HTTP Version Not Supported\r\n"u8,
        511 => "HTTP/1.1 511 Network Authentication Required\r\n"u8,
        _ => default,
    };
}
