namespace Millrace.Http;

/// <summary>
/// One range-spec of the unit bytes (RFC 9110 section 14.1.2): <c>first-last</c>, <c>first-</c> or <c>-suffix</c>. Numbers may have any
/// number of digits.
/// </summary>
internal static class RangeSpec
{
    /// <summary>
    /// Reads a spec for a representation of <paramref name="size"/> bytes, 1 or more. The range is limited to the representation.
    /// </summary>
    public static RangeSpecKind Read(ReadOnlySpan<byte> spec, long size, out ByteRange range)
    {
        range = default;
        int dash = spec.IndexOf((byte)'-');
        if (dash < 0 || spec.Length == 1)
        {
            return RangeSpecKind.Invalid;
        }

        ReadOnlySpan<byte> first = spec[..dash];
        ReadOnlySpan<byte> last = spec[(dash + 1)..];
        if (first.ContainsAnyExcept(ByteClasses.Digits) || last.ContainsAnyExcept(ByteClasses.Digits))
        {
            return RangeSpecKind.Invalid;
        }

        if (first.IsEmpty)
        {
            long suffixBytes = Math.Min(Number(last), size);
            range = new ByteRange(size - suffixBytes, size - 1);
            return suffixBytes == 0 ? RangeSpecKind.Unsatisfiable : RangeSpecKind.Satisfiable;
        }

        if (!last.IsEmpty && IsLess(last, first))
        {
            return RangeSpecKind.Invalid;
        }

        range = new ByteRange(Number(first), last.IsEmpty ? size - 1 : Math.Min(Number(last), size - 1));
        return range.First < size ? RangeSpecKind.Satisfiable : RangeSpecKind.Unsatisfiable;
    }

    // Numbers above the largest long become it: no representation is that long.
    private static long Number(ReadOnlySpan<byte> digits)
    {
        long value = 0;
        foreach (byte digit in digits)
        {
            int units = digit - '0';
            if (value > (long.MaxValue - units) / 10)
            {
                return long.MaxValue;
            }

            value = (value * 10) + units;
        }

        return value;
    }

    // Compared as text, because both may exceed the largest long.
    private static bool IsLess(ReadOnlySpan<byte> left, ReadOnlySpan<byte> right)
    {
        left = left.TrimStart((byte)'0');
        right = right.TrimStart((byte)'0');
        return left.Length != right.Length ? left.Length < right.Length : left.SequenceCompareTo(right) < 0;
    }
}

/// <summary>The result of one range-spec for a representation of a given size (RFC 9110 sections 14.1.1 and 14.1.2).</summary>
internal enum RangeSpecKind
{
    Satisfiable,

    /// <summary>Well-formed, but outside the representation.</summary>
    Unsatisfiable,

    /// <summary>Malformed, or its last position is before its first.</summary>
    Invalid,
}
