namespace Millrace.Http;

/// <summary>
/// Ranges of which no two overlap or adjoin: what is added merges with those it touches and takes the place of the earliest, so that
/// parts are sent in the order they were asked for (RFC 9110 section 15.3.7.2).
/// </summary>
internal ref struct CoalescedRanges(Span<ByteRange> room)
{
    private readonly Span<ByteRange> _room = room;
    private int _count;

    public readonly ReadOnlySpan<ByteRange> Ranges => _room[.._count];

    public void Add(ByteRange range)
    {
        int kept = 0;
        int place = -1;
        foreach (ByteRange other in Ranges)
        {
            if (!Touch(other, range))
            {
                _room[kept++] = other;
                continue;
            }

            // The ranges kept touch neither each other nor, therefore, the union: one pass is enough.
            range = new ByteRange(Math.Min(other.First, range.First), Math.Max(other.Last, range.Last));
            place = place < 0 ? kept++ : place;
        }

        _room[place < 0 ? kept++ : place] = range;
        _count = kept;
    }

    private static bool Touch(ByteRange left, ByteRange right) => left.First <= right.Last + 1 && right.First <= left.Last + 1;
}
