using System.Buffers.Binary;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>The nine bytes at the start of every HTTP/2 frame, RFC 9113 section 4.1.</summary>
internal readonly record struct FrameHeader(int Length, FrameType Type, FrameFlags Flags, int StreamId)
{
    public const int Size = 9;

    /// <summary>The length has 24 bits.</summary>
    public const int LengthMax = (1 << 24) - 1;

    /// <summary>The default maximum length of a peer's frames, and the smallest value that the setting allows (section 6.5.2).</summary>
    public const int DefaultLengthMax = 1 << 14;

    public bool Has(FrameFlags flag) => (Flags & flag) != 0;

    /// <summary>Reads a header from the first nine bytes. The reserved bit of the stream identifier is ignored.</summary>
    public static FrameHeader Read(ReadOnlySpan<byte> bytes)
    {
        uint lengthAndType = BinaryPrimitives.ReadUInt32BigEndian(bytes);
        int streamId = BinaryPrimitives.ReadInt32BigEndian(bytes[5..]) & int.MaxValue;
        return new FrameHeader((int)(lengthAndType >> 8), (FrameType)(byte)lengthAndType, (FrameFlags)bytes[4], streamId);
    }

    public static void Write(Span<byte> destination, int length, FrameType type, FrameFlags flags, int streamId)
    {
        Debug.Assert(length is >= 0 and <= LengthMax && streamId >= 0);
        BinaryPrimitives.WriteInt32BigEndian(destination[5..], streamId);
        BinaryPrimitives.WriteUInt32BigEndian(destination, ((uint)length << 8) | (byte)type);
        destination[4] = (byte)flags;
    }
}
