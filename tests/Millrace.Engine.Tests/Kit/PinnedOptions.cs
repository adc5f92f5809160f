namespace Millrace.Engine.Tests.Kit;

/// <summary>Options for rings that have memory registered: a few blocks of it, so that they run out as well.</summary>
internal static class PinnedOptions
{
    public static EngineOptions Pinned(this EngineOptions options) =>
        options.ZeroCopy() with { RegisteredBufferBytes = 1 << 19 };
}
