using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Filters;

namespace Millrace.HttpServer.Clients;

/// <summary>Decides which peers are trusted proxies. Immutable; any thread.</summary>
internal sealed class TrustedPeers(ClientOptions options)
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
}

/// <summary>The proxies in front of the server whose reports about clients are trusted. Immutable.</summary>
internal record ClientOptions
{
    public IReadOnlyList<IPNetwork> Trusted { get; init; } = [];

    public bool TrustsUnix { get; init; }

    public ClientField Field { get; init; } = ClientField.XForwardedFor;
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
