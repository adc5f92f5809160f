namespace Millrace.Quic.Packets;

/// <summary>The packets of QUIC (RFC 9000, section 17). The first four are the values of version 1's type field.</summary>
internal enum PacketKind : byte
{
    Initial = 0,
    ZeroRtt = 1,
    Handshake = 2,
    Retry = 3,
    OneRtt = 4,
    VersionNegotiation = 5,

    /// <summary>A long header of a version that this implementation does not speak: only its version and ids are known.</summary>
    UnsupportedVersion = 6,
}
