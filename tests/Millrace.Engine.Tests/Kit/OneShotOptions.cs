namespace Millrace.Engine.Tests.Kit;

/// <summary>Options for rings whose receives bring bytes once.</summary>
internal static class OneShotOptions
{
    public static EngineOptions OneShot(this EngineOptions options) =>
        options with { Backend = BackendKind.IoUring, MultishotReceive = false };
}
