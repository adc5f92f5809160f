using System.Net;
using System.Net.Sockets;
using Millrace.Engine;
using Millrace.Engine.Filters;
using Millrace.Tls;

namespace Millrace.Server.Proxies;

internal sealed record ProxyOptions
{
    public IReadOnlyList<IPNetwork> Trusted { get; init; } = [];

    public bool TrustsUnix { get; init; }

    /// <summary>Whether connections to all addresses begin with the PROXY protocol.</summary>
    public bool ExpectsEverywhere { get; init; }

    /// <summary>The addresses whose connections begin with the PROXY protocol.</summary>
    public IReadOnlyList<EndPoint> ExpectsAt { get; init; } = [];

    public ClientField Field { get; init; } = ClientField.XForwardedFor;

    public bool Expects(EndPoint address) => ExpectsEverywhere || ExpectsAt.Any(address.Equals);
}

/// <summary>
/// The field to which proxies add the client's address. Only one: clients could forge a field that the proxies do not write.
/// </summary>
internal enum ClientField
{
    XForwardedFor,

    /// <summary>RFC 7239.</summary>
    Forwarded,

    /// <summary>None: the client is the peer, or the address in the PROXY protocol.</summary>
    None,
}

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

    public bool Trusts(IPAddress address) => _policy.Trusts(address);

    /// <summary>
    /// Whether a request for an https resource is allowed on this connection (RFC 9110 section 7.4): it uses TLS, or a trusted proxy has
    /// terminated TLS.
    /// </summary>
    public bool CarriesHttps(Connection connection) =>
        connection.IsTls() || connection.EndPoints.IsProxied || Trusts(connection.KeepRemoteEndPoint());
}
