using System.Net;

namespace Millrace.Server.Proxies;

/// <summary>Options for proxies in front of the server.</summary>
internal sealed record ProxyOptions
{
    /// <summary>Networks of trusted proxies.</summary>
    public IReadOnlyList<IPNetwork> Trusted { get; init; } = [];

    /// <summary>Whether peers on unix sockets are trusted proxies.</summary>
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
