using System.Buffers.Binary;
using Millrace.Quic.Packets;
using Millrace.Quic.Parameters;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Connections;

/// <summary>This end's transport parameters from its settings, and checks of the peer's that need the connection.</summary>
internal static class ConnectionParameters
{
    public static TransportParameters Make(QuicSettings settings, in ConnectionStart start, LocalConnectionIds ids)
    {
        StreamSettings streams = settings.Streams;
        TransportParameters parameters = new()
        {
            MaxIdleTimeoutMs = settings.IdleTimeout / QuicClock.Millisecond,
            MaxUdpPayloadSize = settings.ReceiveBufferSize,
            InitialMaxData = streams.ConnectionWindowBytes,
            InitialMaxStreamDataBidiLocal = streams.StreamWindowBytes,
            InitialMaxStreamDataBidiRemote = streams.StreamWindowBytes,
            InitialMaxStreamDataUni = streams.StreamWindowBytes,
            InitialMaxStreamsBidi = streams.BidirectionalStreamsMax,
            InitialMaxStreamsUni = streams.UnidirectionalStreamsMax,
            MaxAckDelayMs = (int)(settings.MaximumAckDelay / QuicClock.Millisecond),
            ActiveConnectionIdLimit = PeerConnectionIds.Limit,
            InitialSourceConnectionId = ids.First,
            VersionInformation = new VersionInformation(start.Version, QuicVersion.Supported.ToArray()),
        };
        if (start.IsServer)
        {
            byte[] token = new byte[StatelessReset.TokenLength];
            BinaryPrimitives.WriteUInt128BigEndian(token, ids.FirstResetToken);
            parameters.StatelessResetToken = token;
            parameters.OriginalDestinationConnectionId = start.OriginalDestinationId;
            parameters.RetrySourceConnectionId = start.RetrySourceId;
        }

        return parameters;
    }

    public static PeerStreamLimits StreamLimits(TransportParameters peer) => new(
        peer.InitialMaxData, peer.InitialMaxStreamDataBidiLocal, peer.InitialMaxStreamDataBidiRemote, peer.InitialMaxStreamDataUni,
        peer.InitialMaxStreamsBidi, peer.InitialMaxStreamsUni);

    /// <summary>
    /// The peer must mean the version in use, and a server's list must not show that an attacker forced it (RFC 9368, section 4).
    /// </summary>
    public static QuicError? CheckVersion(TransportParameters peer, in ConnectionStart start, QuicSettings settings)
    {
        if (peer.VersionInformation is not { } information)
        {
            return start.IsAfterVersionNegotiation ? VersionError("No version information after version negotiation") : null;
        }

        if (information.Chosen != start.Version)
        {
            return VersionError("The chosen version is not that of the packets");
        }

        if (start.IsServer || !start.IsAfterVersionNegotiation)
        {
            return null;
        }

        // What the client would have chosen from the server's list is what it has.
        return ChooseVersion(information.Available, settings) == start.Version ? null : VersionError("Version negotiation was forged");
    }

    /// <summary>The version that a client prefers of those that a server offers; 0: there is none.</summary>
    public static uint ChooseVersion(ReadOnlySpan<uint> offered, QuicSettings settings)
    {
        if (QuicVersion.IsSupported(settings.Version) && offered.Contains(settings.Version))
        {
            return settings.Version;
        }

        foreach (uint version in QuicVersion.Supported)
        {
            if (offered.Contains(version))
            {
                return version;
            }
        }

        return 0;
    }

    private static QuicError VersionError(string reason) => new(TransportErrorCode.VersionNegotiationError, reason);
}
