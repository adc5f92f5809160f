using System.Buffers.Binary;

namespace Millrace.Tests.Shared;

/// <summary>A fast hash of bytes for test doubles: it finds accidents and simulated corruption, and resists no attacker.</summary>
internal static class WordHash
{
    private const ulong Odd = 0x9E37_79B9_7F4A_7C15;

    public static ulong Of(ulong seed, ReadOnlySpan<byte> bytes)
    {
        ulong hash = Mix(seed ^ ((ulong)bytes.Length * Odd));
        while (bytes.Length >= sizeof(ulong))
        {
            hash = Fold(hash, BinaryPrimitives.ReadUInt64LittleEndian(bytes));
            bytes = bytes[sizeof(ulong)..];
        }

        ulong last = 0;
        foreach (byte value in bytes)
        {
            last = (last << 8) | value;
        }

        return Mix(Fold(hash, last));
    }

    /// <summary>Sixteen bytes of hash.</summary>
    public static void Write(ulong seed, ReadOnlySpan<byte> bytes, Span<byte> hash)
    {
        ulong first = Of(seed, bytes);
        BinaryPrimitives.WriteUInt64LittleEndian(hash, first);
        BinaryPrimitives.WriteUInt64LittleEndian(hash[sizeof(ulong)..], Mix(first ^ seed));
    }

    /// <summary>A bijection of 64 bits whose results look unrelated (SplitMix64).</summary>
    public static ulong Mix(ulong value)
    {
        value += Odd;
        value = (value ^ (value >> 30)) * 0xBF58_476D_1CE4_E5B9;
        value = (value ^ (value >> 27)) * 0x94D0_49BB_1331_11EB;
        return value ^ (value >> 31);
    }

    private static ulong Fold(ulong hash, ulong word)
    {
        ulong product = (hash ^ word) * Odd;
        return product ^ (product >> 29);
    }
}
