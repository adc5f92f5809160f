using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Engine.Connections;
using Millrace.Interop.Memory;

namespace Millrace.Engine.Buffers;

/// <summary>
/// A reactor's native memory in three block sizes: 4 KiB for input that arrives in pieces, 32 KiB for responses, 256 KiB for chunks of
/// large bodies (small enough to stay in the L2 cache between file and socket). Larger blocks are allocated and freed each time. Reactor
/// thread only.
/// </summary>
/// <param name="bytesMax">Limit of bytes lent at one time; 0: none.</param>
/// <param name="reservedBytes">
/// Bytes that may be lent beyond the limit to clients that hold little: they are served while others are reset.
/// </param>
internal sealed unsafe class BlockPools(long bytesMax = 0, long reservedBytes = 0) : ITrimmable, IDisposable
{
    public const int SmallBytes = 4 * 1024;
    public const int ResponseBytes = 32 * 1024;
    public const int ChunkBytes = 256 * 1024;

    /// <summary>Alignment of small blocks, a cache line: with page alignment the C library would leave every second page unused.</summary>
    private const int SmallAlignment = 64;

    /// <summary>
    /// Alignment of larger blocks, a page: zero-copy sends use whole pages, and with partial pages a small window waits at each.
    /// </summary>
    private const int Alignment = 4096;

    /// <summary>Number of free blocks kept of each size; more are returned to the system, so that a peak does not stay.</summary>
    private static readonly (int Bytes, int Kept)[] Sizes = [(SmallBytes, 1024), (ResponseBytes, 512), (ChunkBytes, 64)];

    /// <summary>All free blocks together are kept up to this fraction of the limit.</summary>
    private const int KeptDivisor = 8;

    private readonly FreeStack<nint>[] _free = [new(), new(), new()];
    private readonly BlockLeakDetector _leakDetector = new("block");

    private readonly long _bytesMax = bytesMax > 0 ? bytesMax : long.MaxValue;

    private Arena? _arena;

    public int Lent { get; private set; }

    public long LentBytes { get; private set; }

    /// <summary>Native memory held, lent or free, including what batches hold themselves. Zero after disposal.</summary>
    public long HeldBytes { get; private set; }

    public void UseArena(Arena? arena) => _arena = arena;

    /// <exception cref="InsufficientMemoryException">The limit is exceeded, or there is not enough memory.</exception>
    public Block Rent(int minBytes, IClientConnection? holder = null)
    {
        Debug.Assert(minBytes > 0);
        CheckRoom(minBytes, holder);
        Block block = Take(minBytes);
        Lent++;
        LentBytes += block.Bytes;
        _leakDetector.Lend((nint)block.Address);
        return block;
    }

    /// <summary>The size of the block that <see cref="Rent"/> gives for so many bytes.</summary>
    public static int BlockBytesOf(int minBytes)
    {
        int size = SizeFor(minBytes);
        return size < Sizes.Length ? Sizes[size].Bytes : minBytes;
    }

    /// <summary>As <see cref="Rent"/>, but false if the limit is exceeded, which the reserve raises if the caller may use it.</summary>
    public bool TryRent(int minBytes, out Block block, bool usesReserve = false)
    {
        bool isRoom = LentBytes + minBytes - _bytesMax <= (usesReserve ? reservedBytes : 0);
        block = isRoom ? Rent(minBytes) : default;
        return isRoom;
    }

    /// <summary>Counts native memory that a batch allocated itself, or freed (negative).</summary>
    public void NoteHeld(long bytes) => HeldBytes += bytes;

    private void CheckRoom(int bytes, IClientConnection? holder)
    {
        long beyond = LentBytes + bytes - _bytesMax;
        if (beyond > 0 && (beyond > reservedBytes || holder is { Holdings.IsSmallHolder: false }))
        {
            throw new InsufficientMemoryException($"Connections hold {LentBytes:N0} bytes; the limit is {_bytesMax:N0}.");
        }
    }

    private Block Take(int minBytes)
    {
        int size = SizeFor(minBytes);
        return size < Sizes.Length ? new Block(TakeOf(size), Sizes[size].Bytes) : new Block(Allocate(minBytes), minBytes);
    }

    /// <summary>The index of the smallest size with so many bytes; their number for none.</summary>
    private static int SizeFor(int minBytes)
    {
        int size = 0;
        while (size < Sizes.Length && minBytes > Sizes[size].Bytes)
        {
            size++;
        }

        return size;
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

    public void Trim(bool all)
    {
        for (int i = 0; i < Sizes.Length; i++)
        {
            foreach (nint address in _free[i].Trim(all))
            {
                Free((byte*)address, Sizes[i].Bytes);
            }
        }
    }

    public void Return(Block block)
    {
        Debug.Assert(!block.IsNone);
        Lent--;
        LentBytes -= block.Bytes;
        _leakDetector.TakeBack((nint)block.Address);
        if (_arena is not null && _arena.Contains(block.Address, (nuint)block.Bytes))
        {
            _arena.Return(block.Address, block.Bytes);
            HeldBytes -= block.Bytes;
            return;
        }

        for (int i = 0; i < Sizes.Length; i++)
        {
            if (block.Bytes == Sizes[i].Bytes && _free[i].Count < Sizes[i].Kept && HeldBytes - LentBytes <= _bytesMax / KeptDivisor)
            {
                _free[i].Push((nint)block.Address);
                return;
            }
        }

        Free(block.Address, block.Bytes);
    }

    public void Dispose()
    {
        _leakDetector.ReportOutstanding();
        Trim(all: true);
        Debug.Assert(Lent > 0 || HeldBytes == 0, "Native memory remains although all of it was returned.");
    }

    private byte* Allocate(int bytes)
    {
        byte* address = bytes < ChunkBytes ? (byte*)NativeMemory.AlignedAlloc((nuint)bytes, AlignmentOf(bytes)) : Map(bytes);
        HeldBytes += bytes;
        return address;
    }

    private static nuint AlignmentOf(int bytes) => bytes > SmallBytes ? (nuint)Alignment : SmallAlignment;

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

    /// <summary>Large blocks are mappings of their own: freed to the C library they stayed in its heaps, more with each peak.</summary>
    private static byte* Map(int bytes)
    {
        nint address = MemoryCalls.MapAnonymousPages((nuint)bytes);
        return MemoryCalls.Failed(address)
            ? throw new InsufficientMemoryException($"There is no memory for a block of {bytes:N0} bytes.")
            : (byte*)address;
    }
}

/// <summary>A block of native memory lent by <see cref="BlockPools"/>; its holder returns it exactly once.</summary>
internal readonly unsafe struct Block(byte* address, int bytes)
{
    public readonly byte* Address = address;
    public readonly int Bytes = bytes;

    public bool IsNone => Address is null;
}
