using Millrace.Quic.Packets;

namespace Millrace.Quic.Parameters;

/// <summary>
/// The transport parameters of one end (RFC 9000, section 18.2; RFC 9368, section 3), with the RFC's defaults for absent ones. One is made
/// for each end of a connection; <see cref="TransportParametersReader"/> and <see cref="TransportParametersWriter"/> encode it.
/// </summary>
internal sealed class TransportParameters
{
    public const long DefaultMaxUdpPayloadSize = 65527;
    public const long MinimumMaxUdpPayloadSize = 1200;
    public const int DefaultAckDelayExponent = 3;
    public const int MaximumAckDelayExponent = 20;
    public const int DefaultMaxAckDelayMs = 25;
    public const int MaximumMaxAckDelayMs = (1 << 14) - 1;
    public const int DefaultActiveConnectionIdLimit = 2;

    /// <summary>Stream ids have 62 bits, two of which are the type.</summary>
    public const long MaximumStreams = 1L << 60;

    /// <summary>Only a server sends it: the destination id of the client's first packet.</summary>
    public ConnectionId? OriginalDestinationConnectionId { get; set; }

    /// <summary>0: no timeout.</summary>
    public long MaxIdleTimeoutMs { get; set; }

    /// <summary>Only a server sends it: 16 bytes for the id that the handshake chose.</summary>
    public byte[]? StatelessResetToken { get; set; }

    public long MaxUdpPayloadSize { get; set; } = DefaultMaxUdpPayloadSize;

    public long InitialMaxData { get; set; }

    /// <summary>For bidirectional streams that the sender of the parameters opens.</summary>
    public long InitialMaxStreamDataBidiLocal { get; set; }

    /// <summary>For bidirectional streams that the receiver of the parameters opens.</summary>
    public long InitialMaxStreamDataBidiRemote { get; set; }

    public long InitialMaxStreamDataUni { get; set; }

    public long InitialMaxStreamsBidi { get; set; }

    public long InitialMaxStreamsUni { get; set; }

    public int AckDelayExponent { get; set; } = DefaultAckDelayExponent;

    public int MaxAckDelayMs { get; set; } = DefaultMaxAckDelayMs;

    public bool DisableActiveMigration { get; set; }

    /// <summary>Only a server sends it.</summary>
    public PreferredAddress? PreferredAddress { get; set; }

    public long ActiveConnectionIdLimit { get; set; } = DefaultActiveConnectionIdLimit;

    /// <summary>The source id of the sender's first Initial packet.</summary>
    public ConnectionId? InitialSourceConnectionId { get; set; }

    /// <summary>Only a server sends it, after a Retry packet: that packet's source id.</summary>
    public ConnectionId? RetrySourceConnectionId { get; set; }

    public VersionInformation? VersionInformation { get; set; }

    /// <summary>
    /// Decodes a peer's parameters; <paramref name="fromServer"/>: the peer is the server. False: the error closes the connection.
    /// </summary>
    public static bool TryDecode(ReadOnlySpan<byte> encoded, bool fromServer, out TransportParameters parameters, out QuicError? error)
        => TransportParametersReader.TryRead(encoded, fromServer, out parameters, out error);

    /// <summary>
    /// Encodes the parameters whose value is not the default, and one that no peer knows (section 18.1), which <paramref name="grease"/>
    /// chooses. Gives the length; <see cref="TransportParametersWriter.MaximumLength"/> bytes are enough.
    /// </summary>
    public int Encode(Span<byte> destination, ulong grease) => TransportParametersWriter.Write(this, destination, grease);
}

/// <summary>An address of the server to which a client may migrate, with an id for it (RFC 9000, section 18.2).</summary>
/// <param name="Ipv4">4 bytes of address and 2 of port; all 0: none.</param>
/// <param name="Ipv6">16 bytes of address and 2 of port; all 0: none.</param>
/// <param name="ConnectionId">Has the sequence number 1; not empty.</param>
/// <param name="StatelessResetToken">16 bytes.</param>
internal sealed record PreferredAddress(byte[] Ipv4, byte[] Ipv6, ConnectionId ConnectionId, byte[] StatelessResetToken);

/// <summary>The version in use and the versions that its sender speaks (RFC 9368, section 3).</summary>
internal sealed record VersionInformation(uint Chosen, uint[] Available)
{
    /// <summary>Available versions of a peer that are kept, the first ones.</summary>
    public const int MaximumRead = 64;
}
