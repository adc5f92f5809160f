using System.Diagnostics;
using Millrace.Interop;
using Millrace.Interop.Memory;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>The receive buffers, last returned first used. Each is either free or lent to the reactor.</summary>
internal sealed unsafe class ReceiveSlab : IDisposable
{
    private readonly byte* _slab;
    private readonly nuint _slabBytes;
    private readonly ushort[] _free;
    private int _freeCount;

    /// <summary>The lent buffers, tracked in Debug builds only.</summary>
    private readonly bool[] _lent;

    public ReceiveSlab(int count, int bufferBytes)
    {
        BufferBytes = bufferBytes;
        _slabBytes = (nuint)count * (nuint)bufferBytes;
        nint slab = MemoryCalls.MapAnonymousPages(_slabBytes);
        if (MemoryCalls.Failed(slab))
        {
            throw new EngineException(
                $"There is no memory for the receive buffers ({Errno.Describe((int)slab)}): configure fewer or smaller ones.");
        }

        _slab = (byte*)slab;
        _free = [.. Enumerable.Range(0, count).Select(static id => (ushort)id)];
        _freeCount = count;
        _lent = new bool[count];
    }

    public int Count => _free.Length;

    public int BufferBytes { get; }

    public byte* AddressOf(ushort id) => _slab + ((nint)id * BufferBytes);

    /// <summary>False when all are in use.</summary>
    public bool TryTake(out ushort id)
    {
        if (_freeCount == 0)
        {
            id = 0;
            return false;
        }

        id = _free[--_freeCount];
        NoteLent(id, true);
        return true;
    }

    public void Return(ushort id)
    {
        NoteLent(id, false);
        _free[_freeCount++] = id;
    }

    /// <summary>Releases the pages' memory until they are used again, unless a buffer is lent.</summary>
    public void DiscardPages()
    {
        if (_freeCount == _free.Length)
        {
            _ = MemoryCalls.DiscardPages((nint)_slab, _slabBytes);
        }
    }

    public void Dispose() => _ = MemoryCalls.Unmap((nint)_slab, _slabBytes);

    [Conditional("DEBUG")]
    private void NoteLent(ushort id, bool isLent)
    {
        Debug.Assert(_lent[id] != isLent, "A receive buffer was returned twice.");
        _lent[id] = isLent;
    }
}
