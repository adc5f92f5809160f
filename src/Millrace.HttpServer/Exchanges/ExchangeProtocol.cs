using Millrace.Http;

namespace Millrace.HttpServer.Exchanges;

/// <summary>The HTTP version of a request.</summary>
internal enum ExchangeProtocol : byte
{
    Http10,
    Http11,
    Http2,
}

/// <summary>The names of the versions.</summary>
internal static class ExchangeProtocols
{
    public static ExchangeProtocol Of(HttpVersion version) =>
        version == HttpVersion.Http10 ? ExchangeProtocol.Http10 : ExchangeProtocol.Http11;

    public static ReadOnlySpan<byte> NameOf(ExchangeProtocol protocol) => protocol switch
    {
        ExchangeProtocol.Http10 => "HTTP/1.0"u8,
        ExchangeProtocol.Http11 => "HTTP/1.1"u8,
        _ => "HTTP/2.0"u8,
    };
}
