using System.Net;
using System.Net.Sockets;
using Millrace.Engine;
using Millrace.Engine.Filters;
using Millrace.Tls;

namespace Millrace.Server.Proxies;

/// <summary>Decides which peers are trusted proxies, and what only they may send. Any thread.</summary>
internal sealed class TrustedPeers(ProxyOptions options)
{
    private readonly ProxyPolicy _policy = new(options.Trusted);

    /// <summary>Whether this peer's reports about its clients are trusted.</summary>
    public bool Trusts(EndPoint? peer) => peer switch
    {
        UnixDomainSocketEndPoint => options.TrustsUnix,
        IPEndPoint { Address: { } address } => Trusts(address),
        _ => false,
    };

    /// <summary>Whether this address is a trusted proxy.</summary>
    public bool Trusts(IPAddress address) => _policy.Trusts(address);

    /// <summary>
    /// Whether a request for an https resource is allowed on this connection (RFC 9110 section 7.4): it uses TLS, or a trusted proxy has
    /// terminated TLS.
    /// </summary>
    public bool CarriesHttps(Connection connection) =>
        connection.IsTls() || connection.EndPoints.AreProxied || Trusts(connection.KeepRemoteEndPoint());
}
