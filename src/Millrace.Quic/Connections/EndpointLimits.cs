namespace Millrace.Quic.Connections;

/// <summary>What an endpoint accepts; each limit protects its memory or its processor time. Immutable.</summary>
internal sealed record EndpointLimits
{
    public int Connections { get; init; } = 100_000;

    /// <summary>From one address, whatever the port: of those whose address is validated by their handshake or a token.</summary>
    public int ConnectionsPerAddress { get; init; } = 1_000;

    /// <summary>Handshakes in progress; what begins beyond them is refused with CONNECTION_REFUSED.</summary>
    public int Handshakes { get; init; } = 4_096;

    /// <summary>The part of them that one address may have, of those that have proved it: the others are limited by Retry.</summary>
    public int HandshakesPerAddress => Math.Max(4, Handshakes / 4);

    /// <summary>Handshakes in progress from which on clients have to prove their address by a Retry; 0: always.</summary>
    public int RetryAbove { get; init; } = 1_024;

    /// <summary>
    /// Datagrams in a second that belong to no connection and still get a response: resets, version negotiation, refusals.
    /// </summary>
    public int RepliesPerSecond { get; init; } = 1_000;

    /// <summary>
    /// The limits of one of several endpoints of a server, of which each has its part of the handshakes: they have their memory in common.
    /// </summary>
    public EndpointLimits PartOf(int endpoints) => this with
    {
        Handshakes = Math.Max(1, Handshakes / endpoints),
        RetryAbove = RetryAbove == 0 ? 0 : Math.Max(1, RetryAbove / endpoints),
    };
}
