using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Millrace.Quic.Streams;

/// <summary>
/// Native memory in blocks of one size, for the data that streams hold. One for all connections of a thread, which is the only one that
/// uses it. The owner disposes of it after all connections. <see cref="Rent"/> throws only if the system has no memory.
/// </summary>
/// <param name="bytesMax">Limit of bytes lent to <see cref="TryRent"/>. Memory that the peer was promised is rented beyond it.</param>
/// <param name="keptBlocks">Number of free blocks kept; more are returned to the system.</param>
internal sealed unsafe class BlockPool(long bytesMax = long.MaxValue, int keptBlocks = 4096) : IDisposable
{
    /// <summary>Three packets: little is wasted on a small message, and few frames meet two blocks.</summary>
    public const int BlockBytes = 1 << BlockShift;

    /// <summary>An offset shifted by this is the number of its block.</summary>
    public const int BlockShift = 12;

    private const int Alignment = 64;

    private readonly Stack<nint> _free = new();

    public int LentBlocks { get; private set; }

    public long LentBytes => (long)LentBlocks * BlockBytes;

    public int FreeBlocks => _free.Count;

    /// <summary>False: the limit is reached.</summary>
    public bool TryRent(out nint block)
    {
        bool isRoom = LentBytes + BlockBytes <= bytesMax;
        block = isRoom ? Rent() : 0;
        return isRoom;
    }

    public nint Rent()
    {
        LentBlocks++;
        return _free.TryPop(out nint block) ? block : (nint)NativeMemory.AlignedAlloc(BlockBytes, Alignment);
    }

    public void Return(nint block)
    {
        Debug.Assert(block != 0 && LentBlocks > 0);
        LentBlocks--;
        if (_free.Count < keptBlocks)
        {
            _free.Push(block);
        }
        else
        {
            NativeMemory.AlignedFree((void*)block);
        }
    }

    /// <summary>Returns free blocks to the system.</summary>
    public void Trim()
    {
        while (_free.TryPop(out nint block))
        {
            NativeMemory.AlignedFree((void*)block);
        }
    }

    public void Dispose() => Trim();
}
