using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Millrace.Engine.Buffers;

/// <summary>
/// A reactor's native memory in three sizes: 4 KiB for input that arrives in pieces, 32 KiB for answers, 256 KiB for
/// chunks of large bodies (small enough to stay in the L2 cache between file and socket). What is larger is allocated and
/// freed each time. Last returned, first lent: the block is still in the cache. Reactor thread only.
/// </summary>
internal sealed unsafe class BlockPools : IDisposable
{
    public const int SmallBytes = 4 * 1024;
    public const int AnswerBytes = 32 * 1024;
    public const int ChunkBytes = 256 * 1024;

    private const int PageBytes = 4096;

    /// <summary>What each size keeps when all is returned; the rest goes back to the system, so that a peak does not stay.</summary>
    private static readonly (int Bytes, int Kept)[] Sizes = [(SmallBytes, 1024), (AnswerBytes, 512), (ChunkBytes, 64)];

    private readonly Stack<nint>[] _free = [new(), new(), new()];
    private readonly LoanLedger _loans = new("block");

    /// <summary>Blocks lent and not yet returned.</summary>
    public int Lent { get; private set; }

    public Block Rent(int minBytes)
    {
        Debug.Assert(minBytes > 0);
        Lent++;
        for (int i = 0; i < Sizes.Length; i++)
        {
            if (minBytes <= Sizes[i].Bytes)
            {
                byte* address = _free[i].TryPop(out nint free) ? (byte*)free : Allocate(Sizes[i].Bytes);
                _loans.Lend((nint)address);
                return new Block(address, Sizes[i].Bytes);
            }
        }

        byte* large = Allocate(minBytes);
        _loans.Lend((nint)large);
        return new Block(large, minBytes);
    }

    public void Return(Block block)
    {
        Debug.Assert(!block.IsNone);
        Lent--;
        _loans.TakeBack((nint)block.Address);
        for (int i = 0; i < Sizes.Length; i++)
        {
            if (block.Bytes == Sizes[i].Bytes && _free[i].Count < Sizes[i].Kept)
            {
                _free[i].Push((nint)block.Address);
                return;
            }
        }

        NativeMemory.AlignedFree(block.Address);
    }

    public void Dispose()
    {
        _loans.ReportOutstanding();
        foreach (Stack<nint> free in _free)
        {
            while (free.TryPop(out nint address))
            {
                NativeMemory.AlignedFree((void*)address);
            }
        }
    }

    private static byte* Allocate(int bytes) => (byte*)NativeMemory.AlignedAlloc((nuint)bytes, PageBytes);
}
