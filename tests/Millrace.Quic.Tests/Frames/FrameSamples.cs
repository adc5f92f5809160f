using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Frames;

/// <summary>One of each frame, with the words of <see cref="FrameText"/> for it.</summary>
internal static class FrameSamples
{
    public const long Large = VariableLengthInteger.Max;

    private static readonly byte[] Eight = [1, 2, 3, 4, 5, 6, 7, 8];
    private static readonly byte[] Token = [.. Enumerable.Range(16, 16).Select(i => (byte)i)];

    public delegate bool Writing(ref FrameWriter writer);

    public static IReadOnlyList<(string Text, Writing Write)> All { get; } =
    [
        ("padding 3", (ref w) => w.TryWritePadding(3)),
        ("Ping", (ref w) => w.TryWritePing()),
        ("ack 7-9 delay 100", (ref w) => w.TryWriteAck([new(7, 9)], 100)),
        ("ack 0-0 delay 0", (ref w) => w.TryWriteAck([new(0, 0)], 0)),
        ("ack 90-100,70-88,0-68 delay 70000", (ref w) => w.TryWriteAck([new(90, 100), new(70, 88), new(0, 68)], 70_000)),
        ($"ack {Large - 1}-{Large},0-5 delay 1 ecn 1 200 {Large}",
            (ref w) => w.TryWriteAck([new(Large - 1, Large), new(0, 5)], 1, new EcnCounts(1, 200, Large))),
        ($"reset 4 code {Large} size 1000", (ref w) => w.TryWriteResetStream(4, Large, 1000)),
        ("stop 70000 code 0", (ref w) => w.TryWriteStopSending(70_000, 0)),
        ("crypto 0 0102030405060708", (ref w) => w.TryWriteCrypto(0, Eight)),
        ($"crypto {Large - 8} 0102030405060708", (ref w) => w.TryWriteCrypto(Large - 8, Eight)),
        ("NewToken 0102030405060708", (ref w) => w.TryWriteNewToken(Eight)),
        ("stream 0 at 0 0102030405060708", (ref w) => w.TryWriteStream(0, 0, Eight, fin: false)),
        ("stream 4 at 0 0102030405060708 fin", (ref w) => w.TryWriteStream(4, 0, Eight, fin: true)),
        ($"stream {Large} at {Large - 8} 0102030405060708", (ref w) => w.TryWriteStream(Large, Large - 8, Eight, fin: false)),
        ($"stream 3 at {Large}  fin", (ref w) => w.TryWriteStream(3, Large, [], fin: true)),
        ("MaxData 65536", (ref w) => w.TryWriteMaxData(65_536)),
        ($"MaxStreamData 4 {Large}", (ref w) => w.TryWriteMaxStreamData(4, Large)),
        ($"MaxStreamsBidirectional {1L << 60}", (ref w) => w.TryWriteMaxStreams(isBidirectional: true, 1L << 60)),
        ("MaxStreamsUnidirectional 0", (ref w) => w.TryWriteMaxStreams(isBidirectional: false, 0)),
        ("DataBlocked 100", (ref w) => w.TryWriteDataBlocked(100)),
        ("StreamDataBlocked 4 100", (ref w) => w.TryWriteStreamDataBlocked(4, 100)),
        ($"StreamsBlockedBidirectional {1L << 60}", (ref w) => w.TryWriteStreamsBlocked(isBidirectional: true, 1L << 60)),
        ("StreamsBlockedUnidirectional 5", (ref w) => w.TryWriteStreamsBlocked(isBidirectional: false, 5)),
        ("id 3 3 0102030405060708 101112131415161718191a1b1c1d1e1f",
            (ref w) => w.TryWriteNewConnectionId(3, 3, new ConnectionId(Eight), Token)),
        ("id 300 3 09 101112131415161718191a1b1c1d1e1f", (ref w) => w.TryWriteNewConnectionId(300, 3, new ConnectionId([9]), Token)),
        ("retire 5", (ref w) => w.TryWriteRetireConnectionId(5)),
        ("PathChallenge 0102030405060708", (ref w) => w.TryWritePathChallenge(Eight)),
        ("PathResponse 0102030405060708", (ref w) => w.TryWritePathResponse(Eight)),
        ("close 10 by 8 4e6f", (ref w) => w.TryWriteConnectionClose(
            new QuicError(TransportErrorCode.ProtocolViolation, "No", FrameType.Stream), PacketKind.OneRtt)),
        ("application close 256 4e6f", (ref w) => w.TryWriteConnectionClose(QuicError.OfApplication(256, "No"), PacketKind.OneRtt)),
        ("HandshakeDone", (ref w) => w.TryWriteHandshakeDone()),
    ];

    public static byte[] Bytes(Writing write)
    {
        var buffer = new byte[200];
        var writer = new FrameWriter(buffer);
        Assert.True(write(ref writer));
        return buffer[..writer.Length];
    }
}
