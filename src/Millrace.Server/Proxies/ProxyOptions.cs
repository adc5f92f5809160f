using System.Net;

namespace Millrace.Server.Proxies;

/// <summary>What the server was told of those in front of it.</summary>
internal sealed record ProxyOptions
{
    /// <summary>Where proxies connect from. Only they are believed.</summary>
    public IReadOnlyList<IPNetwork> Trusted { get; init; } = [];

    /// <summary>Whether who comes by a unix socket is believed what it says in fields.</summary>
    public bool TrustsUnix { get; init; }

    /// <summary>Whether connections to all addresses begin with a preface of the PROXY protocol.</summary>
    public bool ExpectsEverywhere { get; init; }

    /// <summary>Or to which of them.</summary>
    public IReadOnlyList<EndPoint> ExpectsAt { get; init; } = [];

    public ClientField Field { get; init; } = ClientField.XForwardedFor;

    public bool Expects(EndPoint address) => ExpectsEverywhere || ExpectsAt.Any(address.Equals);
}
