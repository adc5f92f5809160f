namespace Millrace.Interop.IoUring;

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
