namespace Millrace.Engine.Tests.Kit;

/// <summary>Options for rings whose sends go out from the memory they stand in, however small they are.</summary>
internal static class ZeroCopyOptions
{
    public static EngineOptions ZeroCopy(this EngineOptions options) =>
        options with { Backend = BackendKind.IoUring, ZeroCopySendBytes = 1 };
}
