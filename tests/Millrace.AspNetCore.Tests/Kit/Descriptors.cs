namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>The descriptors of this process.</summary>
internal static class Descriptors
{
    public static int CountSockets() => Count(static target => target.StartsWith("socket:", StringComparison.Ordinal));

    /// <summary>How many of them are open for a file.</summary>
    public static int CountOf(string file) => Count(target => target == file);

    /// <summary>Waits until no more than those are left.</summary>
    public static Task ReturnToAsync(int sockets) => Waiting.UntilAsync(
        () => CountSockets() <= sockets, () => $"{CountSockets()} sockets are open, {sockets} were before.");

    private static int Count(Func<string, bool> isCounted) =>
        Directory.GetFiles("/proc/self/fd").Count(path => new FileInfo(path).LinkTarget is { } target && isCounted(target));
}
