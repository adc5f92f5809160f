using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Selects the ranges a Range field asks for (RFC 9110 sections 14.1 and 14.2), coalesced and in the order they were asked for.
/// </summary>
/// <remarks>
/// A set with an invalid spec may be ignored or rejected: one beside valid specs is ignored, a set without a valid spec is rejected,
/// for its sender meant something else than the whole. A request that costs more than the whole is answered with it
/// (section 17.15). OWS is forgiven behind '=' as it is around commas.
/// </remarks>
internal static class ByteRanges
{
    /// <summary>The most parts an answer has. zsync asks for 20 at once and gives up if it gets the whole; others ask for dozens.</summary>
    public const int Max = 64;

    /// <summary>The most specs, empty ones included, that are read.</summary>
    public const int SpecsMax = 128;

    private static ReadOnlySpan<byte> Unit => "bytes"u8;

    /// <summary>
    /// Fills <paramref name="ranges"/>, which has room for <see cref="Max"/>, if the outcome is Partial.
    /// A representation of no bytes has no ranges and is always sent whole.
    /// </summary>
    public static RangeOutcome Select(ReadOnlySpan<byte> range, long size, Span<ByteRange> ranges, out int count)
    {
        Debug.Assert(size >= 0 && ranges.Length >= Max);
        count = 0;
        if (size == 0 || !TryReadSet(range, out ReadOnlySpan<byte> set) || set.Count((byte)',') >= SpecsMax)
        {
            return RangeOutcome.Whole;
        }

        var selected = new CoalescedRanges(stackalloc ByteRange[SpecsMax]);
        RangeOutcome outcome = Collect(set, size, ref selected);
        if (outcome != RangeOutcome.Partial || selected.Ranges.Length > Max)
        {
            return outcome == RangeOutcome.Partial ? RangeOutcome.Whole : outcome;
        }

        selected.Ranges.CopyTo(ranges);
        count = selected.Ranges.Length;
        return RangeOutcome.Partial;
    }

    private static bool TryReadSet(ReadOnlySpan<byte> range, out ReadOnlySpan<byte> set)
    {
        bool isOfBytes = range.Length > Unit.Length && range[Unit.Length] == '=' && Words.EqualsIgnoreCase(range[..Unit.Length], Unit);
        set = isOfBytes ? range[(Unit.Length + 1)..] : default;
        return isOfBytes;
    }

    private static RangeOutcome Collect(ReadOnlySpan<byte> set, long size, scoped ref CoalescedRanges selected)
    {
        bool hasValid = false;
        bool hasInvalid = false;
        long bytesLeft = size;
        foreach (ReadOnlySpan<byte> spec in new CommaList(set))
        {
            // Empty elements are ignored, RFC 9110 section 5.6.1.2.
            if (spec.IsEmpty)
            {
                continue;
            }

            RangeSpecKind kind = RangeSpec.Read(spec, size, out ByteRange range);
            hasInvalid |= kind == RangeSpecKind.Invalid;
            hasValid |= kind != RangeSpecKind.Invalid;
            if (kind != RangeSpecKind.Satisfiable)
            {
                continue;
            }

            if (range.Length > bytesLeft)
            {
                return RangeOutcome.Whole;
            }

            bytesLeft -= range.Length;
            selected.Add(range);
        }

        return hasValid && hasInvalid ? RangeOutcome.Whole
            : bytesLeft == size ? RangeOutcome.Unsatisfiable
            : RangeOutcome.Partial;
    }
}
