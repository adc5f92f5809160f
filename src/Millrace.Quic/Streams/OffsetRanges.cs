using System.Diagnostics;

namespace Millrace.Quic.Streams;

/// <summary>
/// A set of offsets of a stream, as ascending ranges that neither overlap nor touch. A change costs a binary search and a move of the
/// ranges after it. Its owner bounds their number. One thread.
/// </summary>
internal sealed class OffsetRanges
{
    private const int RangesMin = 4;
    private const int RangesKept = 64;

    private (long Start, long End)[] _ranges = new (long, long)[RangesMin];

    public int Count { get; private set; }

    public bool IsEmpty => Count == 0;

    /// <summary>Ascending; valid until the next change.</summary>
    public ReadOnlySpan<(long Start, long End)> Ranges => _ranges.AsSpan(0, Count);

    /// <summary>The lowest range, of a set that is not empty.</summary>
    public (long Start, long End) First => _ranges[0];

    public void Add(long start, long end)
    {
        Debug.Assert(start <= end);
        if (start >= end)
        {
            return;
        }

        // Ranges [low, high) overlap or touch the new one, and are replaced by their union.
        int low = FirstEndingAtOrAfter(start);
        int high = low;
        while (high < Count && _ranges[high].Start <= end)
        {
            start = Math.Min(start, _ranges[high].Start);
            end = Math.Max(end, _ranges[high].End);
            high++;
        }

        Replace(low, high, 1);
        _ranges[low] = (start, end);
    }

    public void Remove(long start, long end)
    {
        if (start >= end)
        {
            return;
        }

        int low = FirstEndingAtOrAfter(start + 1);
        int high = low;
        while (high < Count && _ranges[high].Start < end)
        {
            high++;
        }

        if (low == high)
        {
            return;
        }

        (long Start, long End) left = (_ranges[low].Start, start);
        (long Start, long End) right = (end, _ranges[high - 1].End);
        bool hasLeft = left.Start < left.End;
        bool hasRight = right.Start < right.End;
        Replace(low, high, (hasLeft ? 1 : 0) + (hasRight ? 1 : 0));
        if (hasLeft)
        {
            _ranges[low++] = left;
        }

        if (hasRight)
        {
            _ranges[low] = right;
        }
    }

    public void RemoveBefore(long end)
    {
        if (Count > 0 && _ranges[0].Start < end)
        {
            Remove(_ranges[0].Start, end);
        }
    }

    /// <summary>
    /// The first range of offsets from <paramref name="start"/> up to <paramref name="end"/> that are not in the set; false if all are.
    /// </summary>
    public bool TryFindMissing(long start, long end, out long missingStart, out long missingEnd)
    {
        int index = FirstEndingAtOrAfter(start + 1);
        if (index < Count && _ranges[index].Start <= start)
        {
            start = _ranges[index].End;
            index++;
        }

        missingStart = start;
        missingEnd = index < Count ? Math.Min(end, _ranges[index].Start) : end;
        return missingStart < missingEnd;
    }

    public void Clear()
    {
        Count = 0;
        if (_ranges.Length > RangesKept)
        {
            _ranges = new (long, long)[RangesMin];
        }
    }

    private int FirstEndingAtOrAfter(long offset)
    {
        int low = 0;
        int high = Count;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (_ranges[middle].End < offset)
            {
                low = middle + 1;
            }
            else
            {
                high = middle;
            }
        }

        return low;
    }

    /// <summary>Makes room for <paramref name="count"/> ranges in place of those from low up to high.</summary>
    private void Replace(int low, int high, int count)
    {
        int newCount = Count - (high - low) + count;
        if (newCount > _ranges.Length)
        {
            Array.Resize(ref _ranges, _ranges.Length * 2);
        }

        // Mostly nothing is after them.
        if (high < Count)
        {
            Array.Copy(_ranges, high, _ranges, low + count, Count - high);
        }

        Count = newCount;
    }
}
