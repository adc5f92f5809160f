using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Connections;

/// <summary>What the connections of an endpoint share.</summary>
internal sealed record ConnectionContext(
    QuicSettings Settings, QuicCryptography Cryptography, BlockPool Blocks, StreamPool Streams, IConnectionIdSource Ids,
    AddressTokens Tokens);

/// <summary>How a connection begins: what a client chooses, or what a server reads from the first packet and its token.</summary>
internal readonly record struct ConnectionStart
{
    public required bool IsServer { get; init; }

    public required uint Version { get; init; }

    public required PathAddress Local { get; init; }

    public required PathAddress Remote { get; init; }

    /// <summary>The destination id of the client's Initial packets, from which their keys follow.</summary>
    public required ConnectionId InitialDestinationId { get; init; }

    /// <summary>The destination id of the client's very first packet; that before a Retry, if there was one.</summary>
    public required ConnectionId OriginalDestinationId { get; init; }

    /// <summary>The source id of the client's packets, at a server.</summary>
    public ConnectionId PeerId { get; init; }

    /// <summary>The source id of the Retry packet, at a server that has sent one.</summary>
    public ConnectionId? RetrySourceId { get; init; }

    /// <summary>A token has shown that the client owns its address.</summary>
    public bool IsAddressValidated { get; init; }

    /// <summary>A client's token of an earlier connection; null: none.</summary>
    public byte[]? Token { get; init; }

    /// <summary>
    /// A client whose first attempt, with another version, was answered by a Version Negotiation packet (RFC 9368, section 4).
    /// </summary>
    public bool IsAfterVersionNegotiation { get; init; }
}
