namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>The sockets that this process holds.</summary>
internal static class Descriptors
{
    public static int CountSockets() => Directory.GetFiles("/proc/self/fd").Count(static path =>
        new FileInfo(path).LinkTarget?.StartsWith("socket:", StringComparison.Ordinal) == true);

    /// <summary>Waits until no more than those are left.</summary>
    public static Task ReturnToAsync(int sockets) => Waiting.UntilAsync(
        () => CountSockets() <= sockets, () => $"{CountSockets()} sockets are open, {sockets} were before.");
}
