using System.Diagnostics;
using Millrace.Interop.IoUring;
using Millrace.Interop.Memory;

namespace Millrace.Engine.Backends.IoUring;

/// <summary>
/// The receive buffers: a ring shared with the kernel and the slab that holds them. Each buffer is owned either by the kernel (in the ring)
/// or by the reactor (named by a completion and not yet returned).
/// </summary>
internal sealed unsafe class ReceiveBuffers : IDisposable
{
    public const ushort Group = 0;

    private readonly Ring _ring;
    private readonly ProvidedBuffer* _slots;
    private readonly ushort* _tailPtr;
    private readonly byte* _slab;
    private readonly int _bufferBytes;
    private ushort _tail;

    /// <summary>The owner of each buffer, tracked in Debug builds only.</summary>
    private readonly bool[] _inKernel;

    public ReceiveBuffers(Ring ring, int count, int bufferBytes)
    {
        Debug.Assert(int.IsPow2(count) && count <= 32768, "The kernel takes a power of two of at most 2^15 buffers.");
        _ring = ring;
        Count = count;
        _bufferBytes = bufferBytes;
        _inKernel = new bool[count];

        nint slots = MapOrThrow(SlotsBytes);
        nint slab;
        try
        {
            slab = MapOrThrow(SlabBytes);
        }
        catch
        {
            _ = MemoryCalls.Unmap(slots, SlotsBytes);
            throw;
        }

        _slots = (ProvidedBuffer*)slots;
        _slab = (byte*)slab;
        _tailPtr = &_slots[0].TailInSlotZero;

        var registration = new BufferRingRegistration { RingAddress = (ulong)slots, RingEntries = (uint)count, BufferGroup = Group };
        int result = ring.Register(RegisterOpcode.BufferRing, &registration, 1);
        if (result < 0)
        {
            _ = MemoryCalls.Unmap(slots, SlotsBytes);
            _ = MemoryCalls.Unmap(slab, SlabBytes);
            throw new EngineException(IoUringRefusal.ForBuffers(-result));
        }

        for (int id = 0; id < count; id++)
        {
            Return((ushort)id);
        }
    }

    public int Count { get; }

    private nuint SlotsBytes => (nuint)Count * (nuint)sizeof(ProvidedBuffer);

    private nuint SlabBytes => (nuint)Count * (nuint)_bufferBytes;

    public byte* AddressOf(ushort id) => _slab + ((nint)id * _bufferBytes);

    /// <summary>Records that a completion named the buffer, which the reactor now owns.</summary>
    [Conditional("DEBUG")]
    public void NoteTaken(ushort id)
    {
        Debug.Assert(_inKernel[id], "The kernel used a receive buffer that it had not been given.");
        _inKernel[id] = false;
    }

    /// <summary>Returns a buffer to the kernel.</summary>
    public void Return(ushort id)
    {
        NoteReturned(id);
        ProvidedBuffer* slot = &_slots[_tail & (Count - 1)];
        slot->Address = (ulong)AddressOf(id);
        slot->Length = (uint)_bufferBytes;
        slot->BufferId = id;
        _tail++;
        Volatile.Write(ref *_tailPtr, _tail);
    }

    /// <summary>Releases the pages' memory until the kernel writes into them again. Only while no buffer holds bytes.</summary>
    public void DiscardPages() => _ = MemoryCalls.DiscardPages((nint)_slab, SlabBytes);

    private static nint MapOrThrow(nuint bytes)
    {
        nint address = MemoryCalls.MapAnonymousPages(bytes);
        return MemoryCalls.Failed(address) ? throw new EngineException(IoUringRefusal.ForBuffers(Interop.Errno.ENOMEM)) : address;
    }

    [Conditional("DEBUG")]
    private void NoteReturned(ushort id)
    {
        Debug.Assert(!_inKernel[id], "A receive buffer was returned twice.");
        _inKernel[id] = true;
    }

    public void Dispose()
    {
        var registration = new BufferRingRegistration { BufferGroup = Group };
        _ = _ring.Register(RegisterOpcode.UnregisterBufferRing, &registration, 1);
        _ = MemoryCalls.Unmap((nint)_slots, SlotsBytes);
        _ = MemoryCalls.Unmap((nint)_slab, SlabBytes);
    }
}
