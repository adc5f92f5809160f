using Millrace.Engine;
using Millrace.Engine.Filters;

namespace Millrace.HttpServer.Upstreams;

/// <summary>The limits and deadlines of exchanges with upstreams, with the reason for each default.</summary>
internal sealed record UpstreamOptions
{
    /// <summary>For a connect to one address, TLS included. A SYN is sent again after 1 s and 3 s.</summary>
    public TimeSpan ConnectTimeout { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>From the request's last byte to the response's first one. nginx and Apache allow 60 s, too.</summary>
    public TimeSpan FirstByteTimeout { get; init; } = TimeSpan.FromSeconds(60);

    /// <summary>Between two bytes of a response, while its client takes them.</summary>
    public TimeSpan IdleTimeout { get; init; } = TimeSpan.FromSeconds(60);

    /// <summary>Without a byte in either direction of a tunnel: WebSockets are idle for long.</summary>
    public TimeSpan TunnelIdleTimeout { get; init; } = TimeSpan.FromHours(1);

    /// <summary>
    /// How long a tunnel's upstream does not learn that its client of HTTP/2 has ended its direction. Browsers do so together with a
    /// WebSocket's Close frame, which ASP.NET Core does not answer after the end of its input.
    /// </summary>
    public TimeSpan TunnelEndDelay { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>
    /// Connections to one address, shared out equally to the reactors (each has at least one): reactors do not wait for one another.
    /// </summary>
    public int ConnectionsMax { get; init; } = 256;

    /// <summary>
    /// Exchanges of one reactor that wait for a connection; further ones are answered with 503. One takes 6 KB; a burst of requests on
    /// hundreds of connections is to wait rather than to fail.
    /// </summary>
    public int QueueMax { get; init; } = 1_024;

    /// <summary>How long an exchange waits while all connections are in use.</summary>
    public TimeSpan QueueTimeout { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Idle connections of one reactor and group. As many as may be in use: fewer would be closed and opened again whenever the requests of
    /// one iteration end together. <see cref="IdleFor"/> closes those that are not needed.
    /// </summary>
    public int IdleConnectionsMax { get; init; } = 256;

    /// <summary>
    /// Shorter than most application servers keep a connection (Kestrel: 130 s). Where they announce less (Node: 5 s), that counts.
    /// </summary>
    public TimeSpan IdleFor { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>How long an address is avoided after <see cref="MaxFails"/> failed connects, as in nginx.</summary>
    public TimeSpan FailTimeout { get; init; } = TimeSpan.FromSeconds(10);

    public int MaxFails { get; init; } = 1;

    /// <summary>
    /// Makes the filters of connections to a target that is reached by TLS; null if none is. Connects wait for their handshake.
    /// </summary>
    public Func<UpstreamTarget, Func<Connection, IReadOnlyList<ConnectionFilter>>>? TlsFilters { get; init; }

    /// <summary>How often names are resolved again.</summary>
    public TimeSpan ResolveInterval { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>The same while a name has no address yet.</summary>
    public TimeSpan ResolveRetry { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>The deadline for the upstream's next byte in a phase.</summary>
    public TimeSpan DeadlineOf(UpstreamPhase phase) => phase switch
    {
        UpstreamPhase.Waiting or UpstreamPhase.Informational => FirstByteTimeout,
        UpstreamPhase.Tunnel => TunnelIdleTimeout,
        _ => IdleTimeout,
    };
}
