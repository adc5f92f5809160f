using System.Runtime.InteropServices;

namespace Millrace.Interop.IoUring;

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
