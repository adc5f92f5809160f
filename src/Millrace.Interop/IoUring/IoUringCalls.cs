using System.Runtime.InteropServices;

namespace Millrace.Interop.IoUring;

/// <summary>The three system calls of io_uring. All return a count or a descriptor, or -errno.</summary>
internal static unsafe class IoUringCalls
{
    private const int SetupNumber = 425;
    private const int EnterNumber = 426;
    private const int RegisterNumber = 427;

    /// <summary>Offsets that <c>mmap</c> takes on a ring's descriptor.</summary>
    public const long MapSubmissionRing = 0;
    public const long MapCompletionRing = 0x8000000;
    public const long MapSubmissionEntries = 0x10000000;

    public static int Setup(uint entries, RingParameters* parameters) =>
        SystemCall.Invoke(SetupNumber, (nint)entries, (nint)parameters);

    /// <summary>Submits and waits. Blocks: the collector must be able to run meanwhile, so never suppress the GC transition.</summary>
    public static int Enter(int ring, uint toSubmit, uint minComplete, EnterFlags flags, void* argument, nuint argumentBytes) =>
        SystemCall.Invoke(EnterNumber, ring, (nint)toSubmit, (nint)minComplete, (nint)(uint)flags, (nint)argument, (nint)argumentBytes);

    public static int Register(int ring, RegisterOpcode opcode, void* argument, uint count) =>
        SystemCall.Invoke(RegisterNumber, ring, (nint)(uint)opcode, (nint)argument, (nint)count);
}

/// <summary><c>struct io_uring_params</c>, 120 bytes.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct RingParameters
{
    public uint SubmissionEntries;
    public uint CompletionEntries;
    public SetupFlags Flags;
    public uint SubmissionThreadCpu;
    public uint SubmissionThreadIdleMs;
    public RingFeatures Features;
    public uint WorkQueueFd;
    public uint Reserved0;
    public uint Reserved1;
    public uint Reserved2;
    public SubmissionOffsets Submission;
    public CompletionOffsets Completion;
}

/// <summary><c>struct io_sqring_offsets</c>: the submission ring's fields in its mapping.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct SubmissionOffsets
{
    public uint Head;
    public uint Tail;
    public uint RingMask;
    public uint RingEntries;
    public uint Flags;
    public uint Dropped;
    public uint Array;
    public uint Reserved;
    public ulong UserAddress;
}

/// <summary><c>struct io_cqring_offsets</c>.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct CompletionOffsets
{
    public uint Head;
    public uint Tail;
    public uint RingMask;
    public uint RingEntries;
    public uint Overflow;
    public uint Entries;
    public uint Flags;
    public uint Reserved;
    public ulong UserAddress;
}

/// <summary><c>IORING_SETUP_*</c>.</summary>
[Flags]
internal enum SetupFlags : uint
{
    None = 0,
    SubmissionPolling = 1 << 1,
    CompletionQueueSize = 1 << 3,
    Clamp = 1 << 4,
    AttachWorkQueue = 1 << 5,
    StartDisabled = 1 << 6,
    SubmitAll = 1 << 7,
    SingleIssuer = 1 << 12,
    DeferTaskRun = 1 << 13,
    NoSubmissionArray = 1 << 16,
}

/// <summary><c>IORING_FEAT_*</c>, as the kernel reports in <see cref="RingParameters.Features"/>.</summary>
[Flags]
internal enum RingFeatures : uint
{
    None = 0,
    SingleMapping = 1 << 0,
    NoDrop = 1 << 1,
    SubmitStable = 1 << 2,
    ExtendedArgument = 1 << 8,
    NoIoWait = 1 << 17,
}

/// <summary><c>IORING_ENTER_*</c>.</summary>
[Flags]
internal enum EnterFlags : uint
{
    None = 0,
    GetEvents = 1 << 0,
    SubmissionWakeUp = 1 << 1,
    SubmissionWait = 1 << 2,
    ExtendedArgument = 1 << 3,
    RegisteredRing = 1 << 4,
    NoIoWait = 1 << 7,
}

/// <summary><c>IORING_SQ_*</c>: the kernel's flags in the submission ring.</summary>
[Flags]
internal enum SubmissionRingFlags : uint
{
    None = 0,
    NeedWakeUp = 1 << 0,
    CompletionOverflow = 1 << 1,
}

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
