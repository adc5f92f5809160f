using Millrace.Quic.Packets;

namespace Millrace.Quic.Connections;

/// <summary>
/// What a client does with Retry and Version Negotiation packets (RFC 9000, sections 6.2 and 17.2.5), which come before any other packet of
/// the server, or are ignored.
/// </summary>
internal sealed class ClientNegotiation(QuicConnection connection)
{
    /// <summary>More versions of a list are not looked at.</summary>
    private const int VersionsMaximum = 64;

    private bool _hasRetried;

    /// <summary><paramref name="packet"/>: what <paramref name="header"/> was read from.</summary>
    public void Receive(ReadOnlySpan<byte> packet, in PacketHeader header, long now)
    {
        if (_hasRetried || connection.LocalIds.Find(new ConnectionId(header.DestinationId)) != 0)
        {
            return;
        }

        if (header.Kind == PacketKind.VersionNegotiation)
        {
            ReceiveVersions(header);
        }
        else if (header.Kind == PacketKind.Retry && header.Version == connection.Version)
        {
            ReceiveRetry(packet, header, now);
        }
    }

    private void ReceiveVersions(in PacketHeader header)
    {
        // A second negotiation could lead anywhere (RFC 9368, section 4).
        if (connection.IsAfterVersionNegotiation || header.SourceId.Length > ConnectionId.MaximumLength
            || new ConnectionId(header.SourceId) != connection.OriginalDestinationId
            || VersionNegotiationPacket.Contains(header, connection.Version))
        {
            return;
        }

        Span<uint> offered = stackalloc uint[Math.Min(VersionNegotiationPacket.Count(header), VersionsMaximum)];
        for (int i = 0; i < offered.Length; i++)
        {
            offered[i] = VersionNegotiationPacket.Get(header, i);
        }

        connection.OnVersionNegotiated(ConnectionParameters.ChooseVersion(offered, connection.Context.Settings));
    }

    private void ReceiveRetry(ReadOnlySpan<byte> packet, in PacketHeader header, long now)
    {
        ConnectionId source = new(header.SourceId);
        if (source == connection.OriginalDestinationId
            || !RetryPacket.IsAuthentic(packet, header, connection.Context.Cryptography, connection.OriginalDestinationId.AsSpan))
        {
            return;
        }

        _hasRetried = true;
        connection.OnRetry(source, header.Token.ToArray(), now);
    }
}
