using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;

namespace Millrace.Http;

/// <summary>
/// Up to 32 bytes of a text as a vector. Bit i of a result is for the byte at <c>at + i</c>; bits past the text are clear.
/// </summary>
/// <remarks>
/// At the text's end the last 32 bytes are loaded and the results shifted, so nothing past the text is read and the last lines of a head
/// cost the same as the others. The text must therefore have 32 bytes or more.
/// </remarks>
internal readonly ref struct ByteBlock
{
    public const int Bytes = 32;

    private readonly Vector256<byte> _bytes;
    private readonly int _shift;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ByteBlock(ReadOnlySpan<byte> text, int at)
    {
        Debug.Assert(text.Length >= Bytes && (uint)at < (uint)text.Length);
        int from = Math.Min(at, text.Length - Bytes);
        _shift = at - from;
        _bytes = Vector256.LoadUnsafe(ref MemoryMarshal.GetReference(text), (nuint)from);
    }

    /// <summary>How many bytes from <c>at</c> on the block covers.</summary>
    public int Count => Bytes - _shift;

    /// <summary>Bytes that no field value may contain: control characters other than HTAB.</summary>
    public uint Controls => Bits((Vector256.LessThan(_bytes, Vector256.Create((byte)0x20)) & ~Equal((byte)'\t')) | Equal(0x7F));

    /// <summary>Bytes that end or invalidate a request target, the complement of <see cref="ByteClasses.Target"/>.</summary>
    public uint TargetStops => Bits(
        Vector256.LessThan(_bytes, Vector256.Create((byte)0x21))
        | Vector256.GreaterThan(_bytes, Vector256.Create((byte)0x7E))
        | Equal((byte)'#'));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint EqualTo(byte value) => Bits(Equal(value));

    /// <summary>The index of the first control character other than HTAB at or after <paramref name="at"/>, or the text's length.</summary>
    public static int FirstControl(ReadOnlySpan<byte> text, int at)
    {
        while (at < text.Length)
        {
            var block = new ByteBlock(text, at);
            uint controls = block.Controls;
            if (controls != 0)
            {
                return at + BitOperations.TrailingZeroCount(controls);
            }

            at += block.Count;
        }

        return text.Length;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Vector256<byte> Equal(byte value) => Vector256.Equals(_bytes, Vector256.Create(value));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private uint Bits(Vector256<byte> matches) => matches.ExtractMostSignificantBits() >> _shift;
}
