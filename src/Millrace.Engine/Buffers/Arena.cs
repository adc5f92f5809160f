using System.Diagnostics;
using Millrace.Interop.Memory;

namespace Millrace.Engine.Buffers;

/// <summary>
/// Memory that is mapped in one piece, so that the kernel can be told of all of it once. <see cref="BlockPools"/> has its larger blocks
/// from here, as long as there are any; what is given back is for blocks of the same size. Reactor thread only; freed by the backend that
/// made it, when the kernel knows it no more: what is given back behind that is only counted.
/// </summary>
internal sealed unsafe class Arena : IDisposable
{
    private readonly Stack<nint> _answers = new();
    private readonly Stack<nint> _chunks = new();
    private byte* _next;

    /// <param name="bytes">Of whole chunks: <see cref="BlockPools.ChunkBytes"/>.</param>
    /// <exception cref="InsufficientMemoryException">There is not so much.</exception>
    public Arena(long bytes)
    {
        Debug.Assert(bytes > 0 && bytes % BlockPools.ChunkBytes == 0);
        nint address = MemoryCalls.MapAnonymousPages((nuint)bytes);
        if (MemoryCalls.Failed(address))
        {
            throw new InsufficientMemoryException($"There is no memory for {bytes:N0} bytes of registered buffers.");
        }

        Address = _next = (byte*)address;
        Bytes = bytes;
    }

    public byte* Address { get; }

    public long Bytes { get; }

    /// <summary>Whether all of it lies here.</summary>
    public bool Holds(byte* address, nuint bytes) =>
        address >= Address && address < Address + Bytes && bytes <= (nuint)(Address + Bytes - address);

    /// <summary>A block; null where none of this size is left.</summary>
    public byte* TryTake(int bytes)
    {
        if (FreeOf(bytes) is not { } free)
        {
            return null;
        }

        if (free.TryPop(out nint address))
        {
            return (byte*)address;
        }

        if (Address + Bytes - _next < bytes)
        {
            return null;
        }

        byte* block = _next;
        _next += bytes;
        return block;
    }

    /// <summary>A block of this size that was taken.</summary>
    public void GiveBack(byte* block, int bytes) => FreeOf(bytes)!.Push((nint)block);

    public void Dispose() => _ = MemoryCalls.Unmap((nint)Address, (nuint)Bytes);

    private Stack<nint>? FreeOf(int bytes) => bytes switch
    {
        BlockPools.AnswerBytes => _answers,
        BlockPools.ChunkBytes => _chunks,
        _ => null,
    };
}
