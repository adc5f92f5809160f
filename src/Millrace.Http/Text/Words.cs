using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Millrace.Http;

/// <summary>
/// Compares text with literals as integers of up to eight bytes. Inlined with a literal, every branch on its length folds.
/// </summary>
internal static class Words
{
    /// <summary>Letters have this bit; digits and '-' do not, so case is forgiven to letters only ("\r" | 0x20 would be '-').</summary>
    private const ulong LetterBits = 0x4040404040404040;

    /// <summary>Compares case-insensitively with a lower-case literal of 2 to 32 letters, digits and dashes.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool EqualsIgnoreCase(ReadOnlySpan<byte> text, ReadOnlySpan<byte> lower)
    {
        Debug.Assert(lower.Length is >= 2 and <= 32 && !lower.ContainsAnyInRange((byte)'A', (byte)'Z'));
        if (text.Length != lower.Length)
        {
            return false;
        }

        ref byte left = ref MemoryMarshal.GetReference(text);
        ref byte right = ref MemoryMarshal.GetReference(lower);
        return lower.Length switch
        {
            < 4 => Same2(ref left, ref right, 0) && Same2(ref left, ref right, lower.Length - 2),
            < 8 => Same4(ref left, ref right, 0) && Same4(ref left, ref right, lower.Length - 4),
            _ => (lower.Length <= 8 || Same8(ref left, ref right, 0))
                && (lower.Length <= 16 || Same8(ref left, ref right, 8))
                && (lower.Length <= 24 || Same8(ref left, ref right, 16))
                && Same8(ref left, ref right, lower.Length - 8),
        };
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool Same8(ref byte text, ref byte lower, int at)
    {
        ulong wanted = Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref lower, at));
        return (Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref text, at)) | ((wanted & LetterBits) >> 1)) == wanted;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool Same4(ref byte text, ref byte lower, int at)
    {
        uint wanted = Unsafe.ReadUnaligned<uint>(ref Unsafe.Add(ref lower, at));
        return (Unsafe.ReadUnaligned<uint>(ref Unsafe.Add(ref text, at)) | ((wanted & (uint)(LetterBits >> 32)) >> 1)) == wanted;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool Same2(ref byte text, ref byte lower, int at)
    {
        uint wanted = Unsafe.ReadUnaligned<ushort>(ref Unsafe.Add(ref lower, at));
        return (Unsafe.ReadUnaligned<ushort>(ref Unsafe.Add(ref text, at)) | ((wanted & (uint)(LetterBits >> 48)) >> 1)) == wanted;
    }
}
