using System.Net.Security;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace Millrace.AspNetCore.Https;

/// <summary>Maps Kestrel's protocols to ALPN identifiers (RFC 7301, RFC 9113).</summary>
internal static class NegotiatedProtocols
{
    /// <summary>The protocols to offer, in Kestrel's order.</summary>
    public static IEnumerable<string> Of(HttpProtocols protocols)
    {
        if (protocols.HasFlag(HttpProtocols.Http2))
        {
            yield return "h2";
        }

        if (protocols.HasFlag(HttpProtocols.Http1))
        {
            yield return "http/1.1";
        }
    }

    /// <summary>The bytes of the selected protocol; empty if none was selected.</summary>
    public static ReadOnlyMemory<byte> BytesOf(string? protocol) => protocol switch
    {
        null => default,
        "h2" => SslApplicationProtocol.Http2.Protocol,
        "http/1.1" => SslApplicationProtocol.Http11.Protocol,
        _ => new SslApplicationProtocol(protocol).Protocol,
    };
}
