namespace Millrace.Http;

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
