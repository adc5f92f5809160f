namespace Millrace.Quic.Recovery;

/// <summary>A packet number space (RFC 9000, section 12.3): each numbers, acknowledges and detects losses on its own.</summary>
internal enum PacketSpace : byte
{
    Initial,
    Handshake,
    Application,
}
