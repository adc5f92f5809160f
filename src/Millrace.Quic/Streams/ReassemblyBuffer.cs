using System.Diagnostics;

namespace Millrace.Quic.Streams;

/// <summary>
/// The bytes of a receiving stream that were not consumed, in any order of arrival. Bytes that arrive again are ignored: the first ones
/// count (RFC 9000, section 2.2). Its memory is bounded by the offsets that the caller lets in, a block more, and the number of ranges.
/// It owns its blocks; <see cref="Clear"/> returns them. One thread.
/// </summary>
internal sealed class ReassemblyBuffer(BlockPool pool)
{
    /// <summary>Limit of ranges with gaps between them. A gap is a lost packet among those of a round trip.</summary>
    public const int RangesMax = 1024;

    /// <summary>
    /// Ranges allowed without regard to their size; more only if they hold <see cref="RangeBytesMin"/> each on average: each range costs
    /// time as others are inserted before it, and many small ones would be had for a few packets.
    /// </summary>
    public const int SmallRangesMax = 128;

    private const int RangeBytesMin = 128;

    private readonly BlockRing _blocks = new(pool);
    private readonly OffsetRanges _received = new();

    /// <summary>All bytes before this offset are consumed.</summary>
    public long Start { get; private set; }

    /// <summary>The offset after the highest byte received.</summary>
    public long End { get; private set; }

    /// <summary>All bytes before this offset were received.</summary>
    public long ReadableEnd => !_received.IsEmpty && _received.First.Start == Start ? _received.First.End : Start;

    public long ReadableBytes => ReadableEnd - Start;

    public int HeldBlocks => _blocks.Count;

    /// <summary>Bytes that were received and not consumed.</summary>
    public long BufferedBytes { get; private set; }

    /// <summary>False: there are too many gaps.</summary>
    public bool TryInsert(long offset, ReadOnlySpan<byte> bytes)
    {
        long end = offset + bytes.Length;
        long start = Math.Max(offset, Start);
        End = Math.Max(End, end);
        if (start >= end)
        {
            return true;
        }

        long from = start;
        while (_received.TryFindMissing(from, end, out long missingStart, out long missingEnd))
        {
            Copy(missingStart, bytes[(int)(missingStart - offset)..(int)(missingEnd - offset)]);
            BufferedBytes += missingEnd - missingStart;
            from = missingEnd;
        }

        _received.Add(start, end);
        return _received.Count <= Math.Min(RangesMax, SmallRangesMax + (BufferedBytes / RangeBytesMin));
    }

    /// <summary>The next bytes in order, up to the end of a block; valid until they are consumed. False: none.</summary>
    public bool TryRead(out ReadOnlySpan<byte> bytes)
    {
        long count = ReadableBytes;
        if (count == 0)
        {
            bytes = default;
            return false;
        }

        Span<byte> block = _blocks.Find(Start);
        bytes = block[..(int)Math.Min(block.Length, count)];
        return true;
    }

    public void Consume(long count)
    {
        Debug.Assert(count >= 0 && count <= ReadableBytes);
        Start += count;
        BufferedBytes -= count;
        _received.RemoveBefore(Start);
        if (_received.IsEmpty)
        {
            _blocks.ReleaseAll(Start);
        }
        else
        {
            _blocks.ReleaseBefore(Start);
        }
    }

    /// <summary>Drops what is not consumed.</summary>
    public void Clear()
    {
        _received.Clear();
        _blocks.ReleaseAll(Start);
        BufferedBytes = 0;
    }

    /// <summary>For another stream.</summary>
    public void Reset()
    {
        Start = End = 0;
        Clear();
    }

    private void Copy(long offset, ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            Span<byte> room = _blocks.FindOrRent(offset);
            int count = Math.Min(room.Length, bytes.Length);
            bytes[..count].CopyTo(room);
            bytes = bytes[count..];
            offset += count;
        }
    }
}
