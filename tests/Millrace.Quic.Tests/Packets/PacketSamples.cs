using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Packets;

/// <summary>Packets that are written as a connection would.</summary>
internal static class PacketSamples
{
    public const ulong Key = 77;

    public static ConnectionId Destination { get; } = new([1, 2, 3, 4, 5, 6, 7, 8]);

    public static ConnectionId Source { get; } = new([9, 10, 11, 12, 13]);

    public static byte[] Token { get; } = [20, 21, 22];

    public static byte[] Write(PacketKind kind, uint version, byte[] frames, long number = 5, int numberLength = 2, int padTo = 0)
        => Write(kind, version, frames, new PlainProtector(Key), number, numberLength, padTo);

    public static byte[] Write(
        PacketKind kind, uint version, byte[] frames, PacketProtector protector, long number, int numberLength, int padTo, bool keyPhase = false)
    {
        var buffer = new byte[1500];
        Assert.True(TryBegin(buffer, kind, version, number, numberLength, keyPhase, out PacketWriter writer));
        frames.CopyTo(writer.Frames);
        return buffer[..writer.Finish(protector, frames.Length, padTo)];
    }

    public static bool TryBegin(
        Span<byte> buffer, PacketKind kind, uint version, long number, int numberLength, bool keyPhase, out PacketWriter writer)
        => kind == PacketKind.OneRtt
            ? PacketWriter.TryBeginShort(buffer, Destination, spin: false, keyPhase, number, numberLength, out writer)
            : PacketWriter.TryBeginLong(
                buffer, kind, version, Destination, Source, kind == PacketKind.Initial ? Token : [], number, numberLength, out writer);

    /// <summary>The frames of a packet, or null if it does not open.</summary>
    public static byte[]? Open(byte[] datagram, long largest, out long number, out PacketKind kind)
    {
        number = -1;
        kind = default;
        if (!PacketHeader.TryParse(datagram, Destination.Length, out PacketHeader header) || !header.IsProtected)
        {
            return null;
        }

        kind = header.Kind;
        var protector = new PlainProtector(Key);
        if (!PacketOpener.TryUnprotect(datagram, header, protector, largest, out PacketOpener opener)
            || !opener.TryOpen(protector, out ReadOnlySpan<byte> payload))
        {
            return null;
        }

        number = opener.Number;
        return payload.ToArray();
    }

    public static byte[] Ping { get; } = [(byte)FrameType.Ping];
}
