using System.Net;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.HttpServer.Clients;
using Millrace.Tls;

namespace Millrace.Server.Proxies;

/// <summary>The options about proxies in front of the server. Immutable.</summary>
internal sealed record ProxyOptions : ClientOptions
{
    /// <summary>Whether connections to all addresses begin with the PROXY protocol.</summary>
    public bool ExpectsEverywhere { get; init; }

    /// <summary>The addresses whose connections begin with the PROXY protocol.</summary>
    public IReadOnlyList<EndPoint> ExpectsAt { get; init; } = [];

    public bool Expects(EndPoint address) => ExpectsEverywhere || ExpectsAt.Any(address.Equals);
}

/// <summary>What trusted proxies alone may send.</summary>
internal static class TrustedPeersExtensions
{
    /// <summary>
    /// Whether a request for an https resource is allowed on this connection (RFC 9110 section 7.4): it uses TLS, or a trusted proxy has
    /// terminated TLS. HTTP/3 always uses it.
    /// </summary>
    public static bool CarriesHttps(this TrustedPeers trusted, IClientConnection connection) =>
        connection is not Connection tcp || tcp.IsTls() || tcp.EndPoints.IsProxied || trusted.Trusts(tcp.KeepRemoteEndPoint());
}
