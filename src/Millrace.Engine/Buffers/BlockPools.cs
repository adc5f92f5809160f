using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Interop.Memory;

namespace Millrace.Engine.Buffers;

/// <summary>
/// A reactor's native memory in three sizes: 4 KiB for input that arrives in pieces, 32 KiB for answers, 256 KiB for
/// chunks of large bodies (small enough to stay in the L2 cache between file and socket). What is larger is allocated and
/// freed each time. Last returned, first lent: the block is still in the cache. Reactor thread only.
/// </summary>
/// <param name="bytesMax">What may be lent at one time; 0: as much as there is.</param>
internal sealed unsafe class BlockPools(long bytesMax = 0) : IDisposable
{
    public const int SmallBytes = 4 * 1024;
    public const int AnswerBytes = 32 * 1024;
    public const int ChunkBytes = 256 * 1024;

    private const int PageBytes = 4096;

    /// <summary>What each size keeps when all is returned; the rest goes back to the system, so that a peak does not stay.</summary>
    private static readonly (int Bytes, int Kept)[] Sizes = [(SmallBytes, 1024), (AnswerBytes, 512), (ChunkBytes, 64)];

    private readonly Stack<nint>[] _free = [new(), new(), new()];
    private readonly LoanLedger _loans = new("block");

    private readonly long _bytesMax = bytesMax > 0 ? bytesMax : long.MaxValue;

    private Arena? _arena;

    /// <summary>Blocks lent and not yet returned.</summary>
    public int Lent { get; private set; }

    /// <summary>Their bytes.</summary>
    public long LentBytes { get; private set; }

    /// <summary>Native memory held, lent or not, with what batches say that they hold besides. Nothing once all is disposed.</summary>
    public long HeldBytes { get; private set; }

    /// <summary>Whether three quarters of what may be lent are.</summary>
    public bool IsNearlyExhausted => LentBytes > _bytesMax / 4 * 3;

    /// <summary>From here on blocks come from this memory first, where it is not null.</summary>
    public void LendFrom(Arena? arena) => _arena = arena;

    /// <exception cref="InsufficientMemoryException">More would be lent than may be, or than there is.</exception>
    public Block Rent(int minBytes)
    {
        Debug.Assert(minBytes > 0);
        Block block = Take(minBytes);
        Lent++;
        LentBytes += block.Bytes;
        _loans.Lend((nint)block.Address);
        return block;
    }

    /// <summary>Native memory of a batch's own was allocated, or with less than 0 freed.</summary>
    public void NoteHeld(long bytes) => HeldBytes += bytes;

    private Block Take(int minBytes)
    {
        if (LentBytes + minBytes > _bytesMax)
        {
            throw new InsufficientMemoryException($"Connections hold {LentBytes:N0} bytes of {_bytesMax:N0} that they may.");
        }

        for (int i = 0; i < Sizes.Length; i++)
        {
            if (minBytes <= Sizes[i].Bytes)
            {
                return new Block(TakeOf(i), Sizes[i].Bytes);
            }
        }

        return new Block(Allocate(minBytes), minBytes);
    }

    private byte* TakeOf(int size)
    {
        int bytes = Sizes[size].Bytes;
        byte* pinned = _arena is null ? null : _arena.TryTake(bytes);
        if (pinned is not null)
        {
            HeldBytes += bytes;
            return pinned;
        }

        return _free[size].TryPop(out nint free) ? (byte*)free : Allocate(bytes);
    }

    public void Return(Block block)
    {
        Debug.Assert(!block.IsNone);
        Lent--;
        LentBytes -= block.Bytes;
        _loans.TakeBack((nint)block.Address);
        if (_arena is not null && _arena.Holds(block.Address, (nuint)block.Bytes))
        {
            _arena.GiveBack(block.Address, block.Bytes);
            HeldBytes -= block.Bytes;
            return;
        }

        for (int i = 0; i < Sizes.Length; i++)
        {
            if (block.Bytes == Sizes[i].Bytes && _free[i].Count < Sizes[i].Kept)
            {
                _free[i].Push((nint)block.Address);
                return;
            }
        }

        Free(block.Address, block.Bytes);
    }

    public void Dispose()
    {
        _loans.ReportOutstanding();
        for (int i = 0; i < Sizes.Length; i++)
        {
            while (_free[i].TryPop(out nint address))
            {
                Free((byte*)address, Sizes[i].Bytes);
            }
        }

        Debug.Assert(Lent > 0 || HeldBytes == 0, "Native memory is left although all of it was returned.");
    }

    private byte* Allocate(int bytes)
    {
        byte* address = bytes < ChunkBytes ? (byte*)NativeMemory.AlignedAlloc((nuint)bytes, PageBytes) : Map(bytes);
        HeldBytes += bytes;
        return address;
    }

    private void Free(byte* address, int bytes)
    {
        if (bytes < ChunkBytes)
        {
            NativeMemory.AlignedFree(address);
        }
        else
        {
            _ = MemoryCalls.Unmap((nint)address, (nuint)bytes);
        }

        HeldBytes -= bytes;
    }

    /// <summary>Large blocks are mappings of their own: those freed to the C library stayed in its heaps, more with each peak.</summary>
    private static byte* Map(int bytes)
    {
        nint address = MemoryCalls.MapAnonymousPages((nuint)bytes);
        return MemoryCalls.Failed(address)
            ? throw new InsufficientMemoryException($"There is no memory for a block of {bytes:N0} bytes.")
            : (byte*)address;
    }
}
