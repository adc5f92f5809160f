using System.Buffers.Binary;
using System.Diagnostics;
using Millrace.Quic.Protection;

namespace Millrace.Quic.Packets;

/// <summary>
/// Writes one packet into a buffer: its header, room for frames that the caller fills, and at <see cref="Finish"/> padding, length,
/// seal and header protection (RFC 9000, section 17; RFC 9001, section 5). The buffer is what may be used of the datagram.
/// </summary>
internal readonly ref struct PacketWriter
{
    /// <summary>The Length field has always two bytes; so a packet with a long header is no longer than this after the field.</summary>
    private const int LengthFieldSize = 2;
    private const int LengthMaximum = (1 << 14) - 1;

    private readonly Span<byte> _buffer;
    private readonly int _numberOffset;
    private readonly int _numberLength;
    private readonly long _number;
    private readonly bool _isLong;

    private PacketWriter(Span<byte> buffer, int numberOffset, long number, int numberLength, bool isLong)
    {
        int maximum = isLong ? Math.Min(buffer.Length, numberOffset + LengthMaximum) : buffer.Length;
        _buffer = buffer[..maximum];
        _numberOffset = numberOffset;
        _numberLength = numberLength;
        _number = number;
        _isLong = isLong;
        for (int i = 0; i < numberLength; i++)
        {
            buffer[numberOffset + i] = (byte)(number >> (8 * (numberLength - 1 - i)));
        }
    }

    /// <summary>Where frames are written. There is room for four bytes at least.</summary>
    public Span<byte> Frames => _buffer[(_numberOffset + _numberLength)..^PacketProtector.TagLength];

    public long Number => _number;

    /// <summary>Bytes that are no frames: header and tag.</summary>
    public int Overhead => _numberOffset + _numberLength + PacketProtector.TagLength;

    /// <summary>The length that <see cref="Finish"/> gives without padding.</summary>
    public int LengthOf(int framesLength)
        => _numberOffset + _numberLength + Math.Max(framesLength, PacketNumbers.MaximumLength - _numberLength) + PacketProtector.TagLength;

    /// <summary>
    /// Begins an Initial, Handshake or 0-RTT packet. False: the buffer has no room for it. The token is an Initial packet's.
    /// </summary>
    public static bool TryBeginLong(
        Span<byte> buffer,
        PacketKind kind,
        uint version,
        scoped in ConnectionId destination,
        scoped in ConnectionId source,
        scoped ReadOnlySpan<byte> token,
        long number,
        int numberLength,
        out PacketWriter writer)
    {
        Debug.Assert(kind is PacketKind.Initial or PacketKind.Handshake or PacketKind.ZeroRtt);
        Debug.Assert(numberLength is >= 1 and <= PacketNumbers.MaximumLength);
        writer = default;
        int tokenFieldSize = kind == PacketKind.Initial ? VariableLengthInteger.Length(token.Length) + token.Length : 0;
        int numberOffset = LongHeader.Size(destination.Length, source.Length) + tokenFieldSize + LengthFieldSize;
        if (buffer.Length < numberOffset + numberLength + PacketNumbers.MaximumLength + PacketProtector.TagLength)
        {
            return false;
        }

        byte first = (byte)(LongHeader.FirstByte(version, kind) | (numberLength - 1));
        int offset = LongHeader.Write(buffer, first, version, destination.AsSpan, source.AsSpan);
        if (kind == PacketKind.Initial)
        {
            offset += VariableLengthInteger.Write(buffer[offset..], token.Length);
            token.CopyTo(buffer[offset..]);
        }

        writer = new PacketWriter(buffer, numberOffset, number, numberLength, isLong: true);
        return true;
    }

    /// <summary>Begins a 1-RTT packet. False: the buffer has no room for it.</summary>
    public static bool TryBeginShort(
        Span<byte> buffer, scoped in ConnectionId destination, bool spin, bool keyPhase, long number, int numberLength,
        out PacketWriter writer)
    {
        Debug.Assert(numberLength is >= 1 and <= PacketNumbers.MaximumLength);
        writer = default;
        int numberOffset = 1 + destination.Length;
        if (buffer.Length < numberOffset + numberLength + PacketNumbers.MaximumLength + PacketProtector.TagLength)
        {
            return false;
        }

        buffer[0] = (byte)(0x40 | (spin ? 0x20 : 0) | (keyPhase ? 0x04 : 0) | (numberLength - 1));
        destination.AsSpan.CopyTo(buffer[1..]);
        writer = new PacketWriter(buffer, numberOffset, number, numberLength, isLong: false);
        return true;
    }

    /// <summary>
    /// Ends the packet with the first <paramref name="framesLength"/> bytes of <see cref="Frames"/>, and PADDING up to
    /// <paramref name="padTo"/> bytes of packet, as far as the buffer goes. Gives the packet's length. <paramref name="pieces"/> are in
    /// those bytes, and are read where they are.
    /// </summary>
    public int Finish(PacketProtector protector, int framesLength, int padTo = 0, PayloadPieces? pieces = null)
    {
        int headerLength = _numberOffset + _numberLength;

        // Number and frames have four bytes together, so that the peer can take its sample (RFC 9001, section 5.4.2).
        int padded = Math.Max(framesLength, PacketNumbers.MaximumLength - _numberLength);
        padded = Math.Clamp(padTo - headerLength - PacketProtector.TagLength, padded, Frames.Length);
        Frames[framesLength..padded].Clear();
        int total = headerLength + padded + PacketProtector.TagLength;
        if (_isLong)
        {
            BinaryPrimitives.WriteUInt16BigEndian(_buffer[(_numberOffset - LengthFieldSize)..], (ushort)(0x4000 | (total - _numberOffset)));
        }

        Span<byte> packet = _buffer[..total];
        if (pieces is null || pieces.Count == 0)
        {
            protector.Seal(_number, packet[..headerLength], packet[headerLength..]);
        }
        else
        {
            protector.Seal(_number, packet[..headerLength], packet[headerLength..], pieces);
        }

        HeaderProtection.Apply(packet, _numberOffset, _numberLength, _isLong, protector);
        return total;
    }
}
