using System.Net.Security;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace Millrace.AspNetCore.Https;

/// <summary>Kestrel's protocols as ALPN knows them (RFC 7301, RFC 9113).</summary>
internal static class NegotiatedProtocols
{
    /// <summary>What is offered, in Kestrel's order.</summary>
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

    /// <summary>The bytes of what was chosen; empty where nothing was.</summary>
    public static ReadOnlyMemory<byte> BytesOf(string? protocol) => protocol switch
    {
        null => default,
        "h2" => SslApplicationProtocol.Http2.Protocol,
        "http/1.1" => SslApplicationProtocol.Http11.Protocol,
        _ => new SslApplicationProtocol(protocol).Protocol,
    };
}
