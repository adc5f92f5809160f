using System.Diagnostics;
using System.Text;

namespace Millrace.AspNetCore.Tests.Transport.Kit;

/// <summary>Waits that end: a test that hangs fails and says where.</summary>
internal static class Waiting
{
    /// <summary>Far beyond what anything here takes, on a slow machine too.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    public static Task Within(this Task task) => task.WaitAsync(Patience);

    public static Task<T> Within<T>(this Task<T> task) => task.WaitAsync(Patience);

    public static Task<T> Within<T>(this ValueTask<T> task) => task.AsTask().WaitAsync(Patience);

    /// <summary>For what has no event of its own.</summary>
    public static async Task UntilAsync(Func<bool> condition, string what)
    {
        for (var watch = Stopwatch.StartNew(); !condition(); await Task.Delay(1))
        {
            Assert.True(watch.Elapsed < Patience, $"Waited in vain until {what}.");
        }
    }

    /// <summary>Completed when the token fires: whether on a thread of the pool.</summary>
    public static Task<bool> FiredAsync(this CancellationToken token)
    {
        var fired = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        token.Register(() => fired.TrySetResult(Thread.CurrentThread.IsThreadPoolThread));
        return fired.Task.Within();
    }

    public static byte[] Ascii(this string text) => Encoding.ASCII.GetBytes(text);
}
