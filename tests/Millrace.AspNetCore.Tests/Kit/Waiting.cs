using System.Diagnostics;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>Waits that end: a test that hangs fails and says where.</summary>
internal static class Waiting
{
    /// <summary>For what takes milliseconds, on a machine that may be very slow.</summary>
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    public static Task Within(this Task task) => task.WaitAsync(Patience);

    public static Task<T> Within<T>(this Task<T> task) => task.WaitAsync(Patience);

    public static Task<T> Within<T>(this ValueTask<T> task) => task.AsTask().WaitAsync(Patience);

    /// <summary>For what has no event of its own, such as the kernel's view of a socket.</summary>
    public static async Task UntilAsync(Func<bool> condition, Func<string> seen)
    {
        for (var watch = Stopwatch.StartNew(); !condition(); await Task.Delay(5))
        {
            Assert.True(watch.Elapsed < Patience, seen());
        }
    }
}
