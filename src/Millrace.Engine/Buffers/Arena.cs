using System.Diagnostics;
using Millrace.Interop.Memory;

namespace Millrace.Engine.Buffers;

/// <summary>
/// Memory mapped in one piece, so that it can be registered with the kernel at once. <see cref="BlockPools"/> takes its larger blocks from
/// here while there are any; a returned block is reused for the same size. Freed by the backend that created it, after the kernel has
/// unregistered it; blocks returned later are only counted. Reactor thread only.
/// </summary>
internal sealed unsafe class Arena : IDisposable
{
    private readonly Stack<nint> _responses = new();
    private readonly Stack<nint> _chunks = new();
    private byte* _next;

    /// <param name="bytes">A multiple of <see cref="BlockPools.ChunkBytes"/>.</param>
    /// <exception cref="InsufficientMemoryException">There is not enough memory.</exception>
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

    public bool Contains(byte* address, nuint bytes) =>
        address >= Address && address < Address + Bytes && bytes <= (nuint)(Address + Bytes - address);

    /// <summary>Takes a block; null if none of this size is left.</summary>
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

    public void Return(byte* block, int bytes) => FreeOf(bytes)!.Push((nint)block);

    public void Dispose() => _ = MemoryCalls.Unmap((nint)Address, (nuint)Bytes);

    private Stack<nint>? FreeOf(int bytes) => bytes switch
    {
        BlockPools.ResponseBytes => _responses,
        BlockPools.ChunkBytes => _chunks,
        _ => null,
    };
}
