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
