using System.Buffers.Binary;
using System.Diagnostics;

namespace Millrace.Quic.Packets;

/// <summary>
/// Integers of 62 bits in 1, 2, 4 or 8 bytes (RFC 9000, section 16). Values are <see langword="long"/>, which holds all of them.
/// </summary>
internal static class VariableLengthInteger
{
    public const long Max = (1L << 62) - 1;

    public const int MaximumLength = 8;

    /// <summary>Reads an integer from the start of some bytes. False: the bytes end within it.</summary>
    public static bool TryRead(ReadOnlySpan<byte> bytes, out long value, out int count)
    {
        value = 0;
        count = 0;
        if (bytes.IsEmpty)
        {
            return false;
        }

        int length = 1 << (bytes[0] >> 6);
        if (bytes.Length < length)
        {
            return false;
        }

        count = length;
        value = length switch
        {
            1 => bytes[0],
            2 => BinaryPrimitives.ReadUInt16BigEndian(bytes) & 0x3FFF,
            4 => BinaryPrimitives.ReadUInt32BigEndian(bytes) & 0x3FFF_FFFF,
            _ => BinaryPrimitives.ReadInt64BigEndian(bytes) & Max,
        };
        return true;
    }

    /// <summary>Bytes of the shortest encoding.</summary>
    public static int Length(long value) => value switch
    {
        < 1 << 6 => 1,
        < 1 << 14 => 2,
        < 1 << 30 => 4,
        _ => 8,
    };

    /// <summary>Writes the shortest encoding; gives its length. The destination has room for it.</summary>
    public static int Write(Span<byte> destination, long value)
    {
        int length = Length(value);
        Write(destination, value, length);
        return length;
    }

    /// <summary>Writes a value in 1, 2, 4 or 8 bytes, which may be more than it needs.</summary>
    public static void Write(Span<byte> destination, long value, int length)
    {
        Debug.Assert(value is >= 0 and <= Max && length >= Length(value));
        switch (length)
        {
            case 1:
                destination[0] = (byte)value;
                break;
            case 2:
                BinaryPrimitives.WriteUInt16BigEndian(destination, (ushort)(value | 0x4000));
                break;
            case 4:
                BinaryPrimitives.WriteUInt32BigEndian(destination, (uint)(value | 0x8000_0000));
                break;
            default:
                BinaryPrimitives.WriteUInt64BigEndian(destination, (ulong)value | 0xC000_0000_0000_0000);
                break;
        }
    }
}
