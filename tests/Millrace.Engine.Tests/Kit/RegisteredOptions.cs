namespace Millrace.Engine.Tests.Kit;

/// <summary>Options for rings that have their sockets in a table of files.</summary>
internal static class RegisteredOptions
{
    public static EngineOptions Registered(this EngineOptions options) =>
        options with { Backend = BackendKind.IoUring, RegisteredFiles = true };
}
