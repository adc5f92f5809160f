using System.Diagnostics;

namespace Millrace.Quic.Streams;

/// <summary>
/// The bytes of a sending stream, from the first that is not acknowledged up to the last that was written: copied from the application
/// into blocks, and kept until they are acknowledged. Ranges that were lost are sent again before new bytes. It owns its blocks;
/// <see cref="Clear"/> returns them. One thread.
/// </summary>
internal sealed class SendBuffer(BlockPool pool)
{
    private readonly BlockRing _blocks = new(pool);
    private readonly OffsetRanges _acknowledged = new();
    private readonly OffsetRanges _lost = new();

    /// <summary>Null: no limit, not even of the pool, as of handshake messages. It is set while no blocks are held.</summary>
    public SendBudget? Budget { get; set; }

    /// <summary>All bytes before this offset are acknowledged.</summary>
    public long Start { get; private set; }

    /// <summary>The highest offset that was sent.</summary>
    public long SentEnd { get; private set; }

    /// <summary>The offset after the last byte written.</summary>
    public long End { get; private set; }

    public long UnsentBytes => End - SentEnd;

    public int HeldBlocks => _blocks.Count;

    public bool HasLost => !_lost.IsEmpty;

    public bool IsAcknowledged => Start == End;

    /// <summary>Bytes that a write finds room for, but for the limit of the pool.</summary>
    public long Room
    {
        get
        {
            long blocks = Math.Max(Budget?.FreeBlocks ?? int.MaxValue, HeldBlocks == 0 ? 1 : 0);
            return TailRoom + (blocks * BlockPool.BlockBytes);
        }
    }

    /// <summary>Whether a writer that waited for room finds some that is worth it.</summary>
    public bool HasAmpleRoom => HeldBlocks == 0 || Budget is null || Budget.TryFindAmpleRoom();

    private int TailRoom => _blocks.Find(End).Length;

    /// <summary>Copies as much as there is room for; returns how much.</summary>
    public int Write(ReadOnlySpan<byte> bytes)
    {
        int written = 0;
        while (written < bytes.Length)
        {
            Span<byte> room = GetSpan();
            if (room.IsEmpty)
            {
                break;
            }

            int count = Math.Min(room.Length, bytes.Length - written);
            bytes.Slice(written, count).CopyTo(room);
            Advance(count);
            written += count;
        }

        return written;
    }

    /// <summary>
    /// Room to write into, up to the end of a block; empty if the limits are reached. <see cref="Advance"/> appends what is written.
    /// </summary>
    public Span<byte> GetSpan()
    {
        Span<byte> tail = _blocks.Find(End);
        if (!tail.IsEmpty)
        {
            return tail;
        }

        if (!TryRent(out nint block))
        {
            return default;
        }

        _blocks.Put(End, block);
        return _blocks.Find(End);
    }

    public void Advance(int count)
    {
        Debug.Assert(count >= 0 && count <= TailRoom);
        End += count;
    }

    /// <summary>The range to send next: a lost one, or new bytes before <paramref name="limit"/>.</summary>
    public bool TryGetNext(long limit, out long offset, out long length)
    {
        if (HasLost)
        {
            (offset, long end) = _lost.First;
            length = end - offset;
            return true;
        }

        offset = SentEnd;
        length = Math.Max(0, Math.Min(End, limit) - SentEnd);
        return length > 0;
    }

    public void CopyTo(long offset, Span<byte> destination)
    {
        while (!destination.IsEmpty)
        {
            Span<byte> source = _blocks.Find(offset);
            int count = Math.Min(source.Length, destination.Length);
            Debug.Assert(count > 0);
            source[..count].CopyTo(destination);
            destination = destination[count..];
            offset += count;
        }
    }

    public void OnSent(long offset, int length)
    {
        _lost.Remove(offset, offset + length);
        SentEnd = Math.Max(SentEnd, offset + length);
    }

    /// <summary>Returns the number of blocks that were released.</summary>
    public int OnAcked(long offset, int length)
    {
        long start = Math.Max(Start, offset);
        long end = offset + length;
        Debug.Assert(end <= SentEnd);
        if (start >= end)
        {
            return 0;
        }

        _lost.Remove(start, end);
        if (start > Start)
        {
            _acknowledged.Add(start, end);
            return 0;
        }

        Start = end;
        if (!_acknowledged.IsEmpty && _acknowledged.First.Start <= end)
        {
            _acknowledged.RemoveBefore(end);
            if (!_acknowledged.IsEmpty && _acknowledged.First.Start == end)
            {
                Start = _acknowledged.First.End;
                _acknowledged.RemoveBefore(Start);
            }
        }

        return Release(IsAcknowledged ? _blocks.ReleaseAll(End) : _blocks.ReleaseBefore(Start));
    }

    /// <summary>Bytes to send again, but for those that another packet brought.</summary>
    public void OnLost(long offset, int length)
    {
        long end = offset + length;
        Debug.Assert(end <= SentEnd);
        long start = Math.Max(Start, offset);
        while (_acknowledged.TryFindMissing(start, end, out long missingStart, out long missingEnd))
        {
            _lost.Add(missingStart, missingEnd);
            start = missingEnd;
        }
    }

    /// <summary>
    /// Forgets what is unsent or not acknowledged, as of a stream that is reset. Returns the number of blocks that were released.
    /// </summary>
    public int Clear()
    {
        _acknowledged.Clear();
        _lost.Clear();
        End = SentEnd;
        return Release(_blocks.ReleaseAll(End));
    }

    /// <summary>For another stream.</summary>
    public void Reset()
    {
        Clear();
        Start = SentEnd = End = 0;
        _blocks.ReleaseAll(0);
    }

    private bool TryRent(out nint block)
    {
        if (Budget is null)
        {
            block = pool.Rent();
            return true;
        }

        bool isFirst = _blocks.Count == 0;
        block = 0;
        if (!Budget.TryTake(isFirst))
        {
            return false;
        }

        if (pool.TryRent(out block))
        {
            return true;
        }

        // A first block exceeds the limit of the pool, too: else nothing might ever wake its writer.
        if (isFirst)
        {
            block = pool.Rent();
            return true;
        }

        Budget.Return(1);
        return false;
    }

    private int Release(int blocks)
    {
        Budget?.Return(blocks);
        return blocks;
    }
}
