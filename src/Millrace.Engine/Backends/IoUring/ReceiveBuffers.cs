using System.Diagnostics;
using Millrace.Interop;
using Millrace.Interop.IoUring;
using Millrace.Interop.Memory;

namespace Millrace.Engine.Backends.IoUring;

/// <summary>
/// The receive buffers, and the ring by which they are provided to the kernel. Each buffer is owned either by the kernel (in the ring) or
/// by the reactor (named by a completion and not yet returned).
/// </summary>
internal sealed unsafe class ReceiveBuffers : ReceiveSlab
{
    /// <summary>The ids of the two sets of a ring: for streams, and for datagrams.</summary>
    public const ushort Group = 0;
    public const ushort DatagramGroup = 1;

    private readonly ushort _group;
    private readonly Ring _ring;
    private readonly ProvidedBuffer* _slots;
    private readonly ushort* _tailPtr;
    private ushort _tail;

    public ReceiveBuffers(Ring ring, ushort group, int count, int bufferBytes)
        : base(count, bufferBytes, static _ => Refusal(Errno.ENOMEM))
    {
        Debug.Assert(int.IsPow2(count) && count <= 32768, "The kernel takes a power of two of at most 2^15 buffers.");
        _ring = ring;
        _group = group;
        nint slots = MemoryCalls.MapAnonymousPages(SlotsBytes);
        if (MemoryCalls.Failed(slots))
        {
            base.Dispose(disposing: true);
            throw Refusal(Errno.ENOMEM);
        }

        _slots = (ProvidedBuffer*)slots;
        _tailPtr = &_slots[0].TailInSlotZero;
        var registration = new BufferRingRegistration { RingAddress = (ulong)slots, RingEntries = (uint)count, BufferGroup = group };
        int result = ring.Register(RegisterOpcode.BufferRing, &registration, 1);
        if (result < 0)
        {
            _ = MemoryCalls.Unmap(slots, SlotsBytes);
            base.Dispose(disposing: true);
            throw Refusal(-result);
        }

        for (int id = 0; id < count; id++)
        {
            Provide((ushort)id);
        }
    }

    private nuint SlotsBytes => (nuint)Count * (nuint)sizeof(ProvidedBuffer);

    public void Return(ushort id)
    {
        NoteLent(id, false);
        Provide(id);
    }

    protected override void Dispose(bool disposing)
    {
        var registration = new BufferRingRegistration { BufferGroup = _group };
        _ = _ring.Register(RegisterOpcode.UnregisterBufferRing, &registration, 1);
        _ = MemoryCalls.Unmap((nint)_slots, SlotsBytes);
        base.Dispose(disposing);
    }

    private static EngineException Refusal(int errno) => new(IoUringRefusal.ForBuffers(errno));

    private void Provide(ushort id)
    {
        ProvidedBuffer* slot = &_slots[_tail & (Count - 1)];
        slot->Address = (ulong)AddressOf(id);
        slot->Length = (uint)BufferBytes;
        slot->BufferId = id;
        _tail++;
        Volatile.Write(ref *_tailPtr, _tail);
    }
}
