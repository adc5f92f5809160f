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
        foreach (ReadOnlySpan<byte> spec in new ElementList(set))
        {
            // Empty elements are ignored, RFC 9110 section 5.6.1.2.
            if (spec.IsEmpty)
            {
                continue;
            }

            // An invalid spec makes the whole field ignored, and so do specs of more bytes than there are.
            hasSpec = true;
            if (!RangeSpec.TryRead(spec, size, out ByteRange range) || range.Length > bytesLeft)
            {
                return RangeOutcome.Whole;
            }

            // Otherwise it is well-formed, but outside the representation.
            if (range.Length > 0)
            {
                bytesLeft -= range.Length;
                selected.Add(range);
            }
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

/// <summary>
/// Ranges that neither overlap nor are closer than a gap: an added range merges with the ranges near it and takes the position of the
/// earliest one, so that parts are sent in the requested order (RFC 9110 section 15.3.7.2).
/// </summary>
/// <param name="room">Memory for as many ranges as are added.</param>
/// <param name="gapMax">A gap smaller than this is sent, too: it costs less than another part.</param>
internal ref struct CoalescedRanges(Span<ByteRange> room, int gapMax)
{
    private readonly Span<ByteRange> _room = room;
    private int _count;

    public readonly ReadOnlySpan<ByteRange> Ranges => _room[.._count];

    /// <summary>Whether an added range overlapped a present one.</summary>
    public bool HasOverlaps { get; private set; }

    public void Add(ByteRange range)
    {
        ByteRange added = range;
        int kept = 0;
        int place = -1;
        foreach (ByteRange other in Ranges)
        {
            if (!AreNear(other, added))
            {
                _room[kept++] = other;
                continue;
            }

            // The kept ranges are near neither each other nor the added range, so they are not near the union either: one pass suffices.
            HasOverlaps |= other.First <= added.Last && added.First <= other.Last;
            range = new ByteRange(Math.Min(other.First, range.First), Math.Max(other.Last, range.Last));
            place = place < 0 ? kept++ : place;
        }

        _room[place < 0 ? kept++ : place] = range;
        _count = kept;
    }

    // Positions are at most the largest long, so it is the smaller side that is moved.
    private readonly bool AreNear(ByteRange left, ByteRange right) =>
        left.First - gapMax <= right.Last && right.First - gapMax <= left.Last;
}

/// <summary>
/// One range-spec of the unit bytes (RFC 9110 section 14.1.2): <c>first-last</c>, <c>first-</c> or <c>-suffix</c>. Numbers may have any
/// number of digits.
/// </summary>
internal static class RangeSpec
{
    /// <summary>
    /// Reads a spec for a representation of <paramref name="size"/> bytes, 1 or more. The range is limited to the representation: it has a
    /// positive length only if it can be satisfied. False if the spec is malformed, or its last position is before its first.
    /// </summary>
    public static bool TryRead(ReadOnlySpan<byte> spec, long size, out ByteRange range)
    {
        range = default;
        int dash = spec.IndexOf((byte)'-');
        if (dash < 0 || spec.Length == 1)
        {
            return false;
        }

        ReadOnlySpan<byte> first = spec[..dash];
        ReadOnlySpan<byte> last = spec[(dash + 1)..];
        if (first.ContainsAnyExcept(ByteClasses.Digits) || last.ContainsAnyExcept(ByteClasses.Digits))
        {
            return false;
        }

        if (first.IsEmpty)
        {
            range = new ByteRange(size - Math.Min(Number(last), size), size - 1);
            return true;
        }

        range = new ByteRange(Number(first), last.IsEmpty ? size - 1 : Math.Min(Number(last), size - 1));
        return last.IsEmpty || !IsLess(last, first);
    }

    // Numbers above the largest long become it: no representation is that long.
    private static long Number(ReadOnlySpan<byte> digits) => Digits.TryParse(digits, out long value) ? value : long.MaxValue;

    // Compared as text, because both may exceed the largest long.
    private static bool IsLess(ReadOnlySpan<byte> left, ReadOnlySpan<byte> right)
    {
        left = left.TrimStart((byte)'0');
        right = right.TrimStart((byte)'0');
        return left.Length != right.Length ? left.Length < right.Length : left.SequenceCompareTo(right) < 0;
    }
}
