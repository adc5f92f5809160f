using System.Runtime.InteropServices;

namespace Millrace.Interop.IoUring;

/// <summary><c>enum io_uring_register_op</c>: the registrations used here.</summary>
internal enum RegisterOpcode : uint
{
    Buffers = 0,
    IoWorkerLimits = 19,
    RingDescriptors = 20,
    UnregisterRingDescriptors = 21,
    BufferRing = 22,
    UnregisterBufferRing = 23,
}

/// <summary><c>struct io_uring_rsrc_update</c>, as <see cref="RegisterOpcode.RingDescriptors"/> takes it.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct ResourceUpdate
{
    /// <summary>In: the slot wanted, or <see cref="AnySlot"/>. Out: the slot given.</summary>
    public uint Offset;

    public uint Reserved;
    public ulong Data;

    public const uint AnySlot = uint.MaxValue;
}

/// <summary><c>struct io_uring_buf_reg</c>, 40 bytes.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct BufferRingRegistration
{
    public ulong RingAddress;
    public uint RingEntries;
    public ushort BufferGroup;
    public ushort Flags;
    public ulong Reserved0;
    public ulong Reserved1;
    public ulong Reserved2;
}

/// <summary>
/// <c>struct io_uring_buf</c>, 16 bytes. In slot 0 the last two bytes are the ring's tail
/// (<c>struct io_uring_buf_ring</c> is a union), so only the first three fields may be written.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal struct ProvidedBuffer
{
    public ulong Address;
    public uint Length;
    public ushort BufferId;
    public ushort TailInSlotZero;
}

/// <summary><c>struct io_uring_getevents_arg</c>, 24 bytes: the extended argument of enter.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct GetEventsArgument
{
    public ulong SignalMask;
    public uint SignalMaskBytes;
    public uint MinWaitUs;
    public ulong Timeout;
}

/// <summary><c>struct __kernel_timespec</c>, 16 bytes.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct KernelTimespec
{
    public long Seconds;
    public long Nanoseconds;
}
