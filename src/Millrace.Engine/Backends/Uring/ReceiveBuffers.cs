using System.Diagnostics;
using Millrace.Interop.IoUring;
using Millrace.Interop.Memory;

namespace Millrace.Engine.Backends.Uring;

/// <summary>
/// The buffers that receives are filled from: a ring shared with the kernel and the slab they lie in. Each buffer is
/// either the kernel's (in the ring) or the reactor's (named by a completion and not yet returned), never both.
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

    /// <summary>Who owns each buffer, kept in Debug builds only.</summary>
    private readonly bool[] _inKernel;

    public ReceiveBuffers(Ring ring, int count, int bufferBytes)
    {
        Debug.Assert(int.IsPow2(count) && count <= 32768, "The kernel takes a power of two of at most 2^15 buffers.");
        _ring = ring;
        Count = count;
        _bufferBytes = bufferBytes;
        _inKernel = new bool[count];

        nint slots = MemoryCalls.MapAnonymousPages(SlotsBytes);
        nint slab = MemoryCalls.MapAnonymousPages(SlabBytes);
        if (MemoryCalls.Failed(slots) || MemoryCalls.Failed(slab))
        {
            throw new EngineException(UringRefusal.ForBuffers(Interop.Errno.ENOMEM));
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
            throw new EngineException(UringRefusal.ForBuffers(-result));
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

    /// <summary>Notes that a completion named the buffer: it is the reactor's now.</summary>
    [Conditional("DEBUG")]
    public void NoteTaken(ushort id)
    {
        Debug.Assert(_inKernel[id], "The kernel used a receive buffer that it had not been given.");
        _inKernel[id] = false;
    }

    /// <summary>Gives a buffer back to the kernel.</summary>
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
