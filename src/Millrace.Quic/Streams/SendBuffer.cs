using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Quic.Packets;

namespace Millrace.Quic.Streams;

/// <summary>
/// The bytes of a sending stream, from the first that is not acknowledged up to the last that was written: copied from the application
/// into blocks, and kept until they are acknowledged, or one range of them in the application's own memory. Ranges that were lost are sent
/// again before new bytes. It owns its blocks; <see cref="Clear"/> returns them. One thread.
/// </summary>
internal sealed unsafe class SendBuffer(BlockPool pool)
{
    private readonly BlockRing _blocks = new(pool);
    private readonly OffsetRanges _acknowledged = new();
    private readonly OffsetRanges _lost = new();

    /// <summary>The memory of the bytes from one offset to another, which is the application's.</summary>
    private byte* _referenced;
    private long _referencedStart;
    private long _referencedEnd;

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

    /// <summary>Bytes of the application's memory may be sent again.</summary>
    public bool HasReferenced => _referencedEnd > Start;

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
    /// Appends bytes without copying them. They stay the caller's, in memory that does not move, valid and unchanged until they are
    /// acknowledged or <see cref="Clear"/> is called. False: others are referenced, and these do not follow them in memory.
    /// </summary>
    public bool TryReference(ReadOnlySpan<byte> bytes)
    {
        byte* address = (byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(bytes));
        bool isNext = End == _referencedEnd && address == _referenced + (_referencedEnd - _referencedStart);
        if (!isNext)
        {
            if (HasReferenced)
            {
                return false;
            }

            _referenced = address;
            _referencedStart = End;
        }

        End += bytes.Length;
        _referencedEnd = End;
        return true;
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
            ReadOnlySpan<byte> source = Find(offset, destination.Length);
            source.CopyTo(destination);
            destination = destination[source.Length..];
            offset += source.Length;
        }
    }

    /// <summary>Adds the bytes from <paramref name="offset"/> on to a payload, in which <paramref name="room"/> is theirs.</summary>
    public void AppendTo(PayloadPieces payload, int payloadOffset, long offset, Span<byte> room)
    {
        while (!room.IsEmpty)
        {
            ReadOnlySpan<byte> source = Find(offset, room.Length);
            payload.Append(payloadOffset, source, room);
            room = room[source.Length..];
            payloadOffset += source.Length;
            offset += source.Length;
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
        _referenced = null;
        _referencedStart = _referencedEnd = 0;
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

    /// <summary>The bytes from an offset on, as many as lie together.</summary>
    private ReadOnlySpan<byte> Find(long offset, int most)
    {
        long referenced = _referencedEnd - offset;
        if (referenced > 0 && offset >= _referencedStart)
        {
            return new ReadOnlySpan<byte>(_referenced + (offset - _referencedStart), (int)Math.Min(referenced, most));
        }

        ReadOnlySpan<byte> block = _blocks.Find(offset);
        long end = referenced > 0 ? Math.Min(most, _referencedStart - offset) : most;
        Debug.Assert(!block.IsEmpty);
        return block[..(int)Math.Min(block.Length, end)];
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
