using System.Buffers.Binary;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// QUIC's integers of up to 62 bits in 1, 2, 4 or 8 bytes, RFC 9000 section 16, which HTTP/3 uses for types, lengths and identifiers. Any
/// of the lengths that a value fits in may be sent.
/// </summary>
internal static class Http3Integer
{
    public const int BytesMax = 8;

    public const long Max = (1L << 62) - 1;

    public static int Length(long value) => value switch
    {
        < 1 << 6 => 1,
        < 1 << 14 => 2,
        < 1 << 30 => 4,
        _ => 8,
    };

    /// <summary>Writes the shortest encoding; returns its length.</summary>
    public static int Write(Span<byte> destination, long value)
    {
        Debug.Assert(value is >= 0 and <= Max);
        int length = Length(value);
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

        return length;
    }

    /// <summary>Reads an integer from the start of the bytes. False if they end within it.</summary>
    public static bool TryRead(ReadOnlySpan<byte> bytes, out long value, out int length)
    {
        value = 0;
        length = bytes.IsEmpty ? 0 : LengthBy(bytes[0]);
        if (bytes.IsEmpty || bytes.Length < length)
        {
            return false;
        }

        value = length switch
        {
            1 => bytes[0],
            2 => BinaryPrimitives.ReadUInt16BigEndian(bytes) & 0x3FFF,
            4 => BinaryPrimitives.ReadUInt32BigEndian(bytes) & 0x3FFF_FFFF,
            _ => BinaryPrimitives.ReadInt64BigEndian(bytes) & Max,
        };
        return true;
    }

    /// <summary>The length of the integer that begins with this byte.</summary>
    public static int LengthBy(byte first) => 1 << (first >> 6);
}

/// <summary>Reads integers from the pieces of a stream, which may end within one.</summary>
internal struct Http3IntegerReader
{
    private long _value;
    private int _missingBytes;

    /// <summary>Whether an integer has begun and is not complete.</summary>
    public readonly bool IsWithin => _missingBytes != 0;

    /// <summary>
    /// Continues at <paramref name="at"/>, which moves after what was used. False if the input ends before the integer does.
    /// </summary>
    public bool TryRead(ReadOnlySpan<byte> input, ref int at, out long value)
    {
        if (_missingBytes == 0)
        {
            if (Http3Integer.TryRead(input[at..], out value, out int length))
            {
                at += length;
                return true;
            }

            if (at == input.Length)
            {
                return false;
            }

            byte first = input[at++];
            _missingBytes = length - 1;
            _value = first & 0x3F;
        }

        while (at < input.Length)
        {
            _value = (_value << 8) | input[at++];
            if (--_missingBytes == 0)
            {
                value = _value;
                return true;
            }
        }

        value = 0;
        return false;
    }
}
