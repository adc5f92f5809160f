namespace Millrace.Engine.Tests.Kit;

/// <summary>Options for rings whose submissions a kernel thread takes.</summary>
internal static class PolledOptions
{
    /// <summary>So short that the thread falls asleep again and again while tests run, and must be woken.</summary>
    private static readonly TimeSpan Idle = TimeSpan.FromMilliseconds(4);

    public static EngineOptions Polled(this EngineOptions options) =>
        options with { Backend = BackendKind.IoUring, SubmissionPolling = Idle };

    public static EngineOptions PolledByOne(this EngineOptions options) => options.Polled() with { SharedSubmissionPolling = true };
}
