using Millrace.Quic.Packets;

namespace Millrace.Quic.Connections;

/// <summary>
/// What a client does with Retry and Version Negotiation packets (RFC 9000, sections 6.2 and 17.2.5), which come before any other packet of
/// the server, or are ignored.
/// </summary>
internal sealed class ClientNegotiation(QuicConnection connection)
{
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
        if (header.SourceId.Length > ConnectionId.MaximumLength
            || new ConnectionId(header.SourceId) != connection.OriginalDestinationId
            || VersionNegotiationPacket.Contains(header, connection.Version))
        {
            return;
        }

        foreach (uint version in QuicVersion.Supported)
        {
            if (VersionNegotiationPacket.Contains(header, version))
            {
                connection.OnVersionNegotiated(version);
                return;
            }
        }

        connection.OnVersionNegotiated(0);
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
