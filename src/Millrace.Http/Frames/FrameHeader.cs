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

/// <summary>
/// The first bytes of a client on an HTTP/2 connection, RFC 9113 section 3.4. An HTTP/1.1 server reads them as a request with a method and
/// a version that it must refuse, so a client with a wrong assumption is notified at once.
/// </summary>
internal static class ConnectionPreface
{
    public const int Size = 24;

    public static ReadOnlySpan<byte> Bytes => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8;

    /// <summary>Compares all bytes of a connection received so far. No bytes are a partial match.</summary>
    public static PrefaceMatch Match(ReadOnlySpan<byte> input)
    {
        int bytes = Math.Min(input.Length, Size);
        return !Bytes.StartsWith(input[..bytes]) ? PrefaceMatch.No
            : bytes == Size ? PrefaceMatch.Whole
            : PrefaceMatch.Partial;
    }
}

/// <summary>The result of comparing the first bytes of a connection with the HTTP/2 preface.</summary>
internal enum PrefaceMatch : byte
{
    /// <summary>A byte differs: this is not HTTP/2.</summary>
    No,

    /// <summary>All bytes so far belong to the preface, which is not complete yet.</summary>
    Partial,

    /// <summary>The input starts with the whole preface.</summary>
    Whole,
}
