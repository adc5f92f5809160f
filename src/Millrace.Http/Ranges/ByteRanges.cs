using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Selects the ranges that a Range field requests (RFC 9110 sections 14.1 and 14.2), coalesced and in the requested order.
/// </summary>
/// <remarks>
/// One rule for invalid fields: a field that is not completely a valid ranges-specifier of the unit bytes is ignored. Only a valid set
/// without a satisfiable range is refused. A request that costs more than the whole is answered with the whole (section 17.15). OWS is
/// allowed after '=' as it is around commas.
/// </remarks>
internal static class ByteRanges
{
    /// <summary>
    /// The maximum number of parts of a response. zchunk (dnf) requests up to 255 ranges at once, and fewer each time if it gets the whole.
    /// </summary>
    public const int Max = 256;

    /// <summary>
    /// The maximum number of parts if ranges overlap, which no honest client needs by the hundreds. zsync requests 20 at once and gives up
    /// if it gets the whole; others request dozens.
    /// </summary>
    public const int OverlappingMax = 64;

    /// <summary>The maximum number of specs, including empty ones, that are read.</summary>
    public const int SpecsMax = 256;

    /// <summary>
    /// The cost of a part besides its bytes, as estimated by RFC 9110 section 15.3.7.2. Closer ranges are joined, so that many parts cost
    /// at most about as much as the whole.
    /// </summary>
    public const int PartOverheadBytes = 80;

    private static ReadOnlySpan<byte> Unit => "bytes"u8;

    /// <summary>
    /// Fills <paramref name="ranges"/>, which has room for <see cref="Max"/>, if the outcome is Partial. A representation of no bytes has
    /// no ranges and is always sent whole.
    /// </summary>
    public static RangeOutcome Select(ReadOnlySpan<byte> range, long size, Span<ByteRange> ranges, out int count)
    {
        Debug.Assert(size >= 0 && ranges.Length >= Max);
        count = 0;
        if (size == 0 || !TryReadSet(range, out ReadOnlySpan<byte> set) || set.Count((byte)',') >= SpecsMax)
        {
            return RangeOutcome.Whole;
        }

        var selected = new CoalescedRanges(stackalloc ByteRange[SpecsMax], gapMax: PartOverheadBytes);
        RangeOutcome outcome = Collect(set, size, ref selected);
        if (outcome != RangeOutcome.Partial)
        {
            return outcome;
        }

        if (selected.HasOverlaps && selected.Ranges.Length > OverlappingMax)
        {
            return RangeOutcome.Whole;
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
        bool hasSpec = false;
        long bytesLeft = size;
        foreach (ReadOnlySpan<byte> spec in new CommaList(set))
        {
            // Empty elements are ignored, RFC 9110 section 5.6.1.2.
            if (spec.IsEmpty)
            {
                continue;
            }

            RangeSpecKind kind = RangeSpec.Read(spec, size, out ByteRange range);
            hasSpec = true;
            if (kind == RangeSpecKind.Unsatisfiable)
            {
                continue;
            }

            // An invalid spec makes the whole field ignored, and so do specs of more bytes than there are.
            if (kind == RangeSpecKind.Invalid || range.Length > bytesLeft)
            {
                return RangeOutcome.Whole;
            }

            bytesLeft -= range.Length;
            selected.Add(range);
        }

        return !hasSpec ? RangeOutcome.Whole
            : bytesLeft == size ? RangeOutcome.Unsatisfiable
            : RangeOutcome.Partial;
    }
}

/// <summary>A range of bytes of a representation, both ends included as in Content-Range (RFC 9110 section 14.4).</summary>
internal readonly record struct ByteRange(long First, long Last)
{
    public long Length => Last - First + 1;
}

/// <summary>The result of a Range field (RFC 9110 section 14.2).</summary>
internal enum RangeOutcome
{
    /// <summary>It is absent or ignored: 200.</summary>
    Whole,

    /// <summary>206: a single range as it is, several as multipart/byteranges.</summary>
    Partial,

    /// <summary>416.</summary>
    Unsatisfiable,
}
