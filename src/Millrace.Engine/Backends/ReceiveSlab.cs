using System.Diagnostics;
using Millrace.Interop.Memory;

namespace Millrace.Engine.Backends;

/// <summary>
/// The memory of a backend's receive buffers, in one mapping. Debug builds track which buffers are lent to the reactor. Reactor thread.
/// </summary>
internal abstract unsafe class ReceiveSlab : IDisposable
{
    private readonly byte* _slab;
    private readonly bool[] _lent;

    protected ReceiveSlab(int count, int bufferBytes, Func<int, EngineException> refusal)
    {
        Count = count;
        BufferBytes = bufferBytes;
        _lent = new bool[count];
        nint slab = MemoryCalls.MapAnonymousPages(Bytes);
        _slab = MemoryCalls.Failed(slab) ? throw refusal((int)slab) : (byte*)slab;
    }

    public int Count { get; }

    public int BufferBytes { get; }

    private nuint Bytes => (nuint)Count * (nuint)BufferBytes;

    public byte* AddressOf(ushort id) => _slab + ((nint)id * BufferBytes);

    /// <summary>Releases the pages' memory until they are used again. Only while no buffer holds bytes.</summary>
    public void DiscardPages() => _ = MemoryCalls.DiscardPages((nint)_slab, Bytes);

    public void Dispose()
    {
        Dispose(disposing: true);
        GC.SuppressFinalize(this);
    }

    [Conditional("DEBUG")]
    public void NoteLent(ushort id, bool isLent)
    {
        Debug.Assert(_lent[id] != isLent, "A receive buffer was lent or returned twice.");
        _lent[id] = isLent;
    }

    protected virtual void Dispose(bool disposing) => _ = MemoryCalls.Unmap((nint)_slab, Bytes);
}
