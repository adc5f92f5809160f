namespace Millrace.HttpServer.Tests.Kit;

/// <summary>The clock of deadlines, which is the kernel's coarse one.</summary>
internal static class ReactorClock
{
    /// <summary>Its step, at the lowest CONFIG_HZ: by another clock a deadline may come so much early.</summary>
    public static readonly TimeSpan Coarseness = TimeSpan.FromMilliseconds(10);
}
