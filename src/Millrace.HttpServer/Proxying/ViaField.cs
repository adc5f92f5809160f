using Millrace.Http;

namespace Millrace.HttpServer.Proxying;

/// <summary>The Via field of a message that passes (RFC 9110, section 7.6.3): the version it was received in, and this server.</summary>
internal static class ViaField
{
    public static ReadOnlySpan<byte> Name => "Via"u8;

    public static ReadOnlySpan<byte> Value(HttpVersion received) => received switch
    {
        HttpVersion.Http10 => "1.0 millrace"u8,
        HttpVersion.Http2 => "2 millrace"u8,
        HttpVersion.Http3 => "3 millrace"u8,
        _ => "1.1 millrace"u8,
    };
}
