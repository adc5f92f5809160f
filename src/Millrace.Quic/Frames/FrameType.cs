using Millrace.Quic.Packets;

namespace Millrace.Quic.Frames;

/// <summary>The types of frames (RFC 9000, section 12.4). Where types differ in flags only, the name is the first one's.</summary>
internal enum FrameType : long
{
    Padding = 0x00,
    Ping = 0x01,

    /// <summary>0x03 has ECN counts.</summary>
    Ack = 0x02,
    AckEcn = 0x03,
    ResetStream = 0x04,
    StopSending = 0x05,
    Crypto = 0x06,
    NewToken = 0x07,

    /// <summary>0x08 to 0x0f, with flags in the three lowest bits.</summary>
    Stream = 0x08,
    MaxData = 0x10,
    MaxStreamData = 0x11,
    MaxStreamsBidirectional = 0x12,
    MaxStreamsUnidirectional = 0x13,
    DataBlocked = 0x14,
    StreamDataBlocked = 0x15,
    StreamsBlockedBidirectional = 0x16,
    StreamsBlockedUnidirectional = 0x17,
    NewConnectionId = 0x18,
    RetireConnectionId = 0x19,
    PathChallenge = 0x1A,
    PathResponse = 0x1B,

    /// <summary>Closed by QUIC itself.</summary>
    ConnectionClose = 0x1C,

    /// <summary>Closed by the application.</summary>
    ConnectionCloseApplication = 0x1D,
    HandshakeDone = 0x1E,
}

/// <summary>Properties of frames by their types (RFC 9000, section 12.4, table 3).</summary>
internal static class FrameTypes
{
    public const long StreamLast = 0x0F;

    /// <summary>Kinds of packets as bits: 1 &lt;&lt; kind.</summary>
    private const int All = Initial | ZeroRtt | Handshake | OneRtt;
    private const int Initial = 1 << (int)PacketKind.Initial;
    private const int ZeroRtt = 1 << (int)PacketKind.ZeroRtt;
    private const int Handshake = 1 << (int)PacketKind.Handshake;
    private const int OneRtt = 1 << (int)PacketKind.OneRtt;

    /// <summary>Packets with these alone need no acknowledgment (section 13.2).</summary>
    public static bool IsAckEliciting(FrameType type)
        => type is not (FrameType.Padding or FrameType.Ack or FrameType.AckEcn or FrameType.ConnectionClose
            or FrameType.ConnectionCloseApplication);

    /// <summary>Packets with these alone probe a path and do not migrate the connection (section 9.1).</summary>
    public static bool IsProbing(FrameType type)
        => type is FrameType.Padding or FrameType.PathChallenge or FrameType.PathResponse or FrameType.NewConnectionId;

    /// <summary>Whether a packet of this kind may carry the frame. Unknown types: no.</summary>
    public static bool IsAllowed(FrameType type, PacketKind kind) => (PacketsOf(type) & (1 << (int)kind)) != 0;

    private static int PacketsOf(FrameType type) => type switch
    {
        FrameType.Padding or FrameType.Ping or FrameType.ConnectionClose => All,
        FrameType.Ack or FrameType.AckEcn or FrameType.Crypto => Initial | Handshake | OneRtt,
        FrameType.NewToken or FrameType.PathResponse or FrameType.HandshakeDone or FrameType.RetireConnectionId => OneRtt,
        >= FrameType.ResetStream and <= FrameType.ConnectionCloseApplication => ZeroRtt | OneRtt,
        _ => 0,
    };
}
