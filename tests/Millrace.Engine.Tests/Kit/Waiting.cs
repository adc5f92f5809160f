using System.Diagnostics;

namespace Millrace.Engine.Tests.Kit;

/// <summary>Waits that end: a test that hangs fails and says where.</summary>
internal static class Waiting
{
    public static Task Within(this Task task) => task.WaitAsync(EngineTest.Patience);

    public static Task<T> Within<T>(this Task<T> task) => task.WaitAsync(EngineTest.Patience);

    /// <summary>For what has no event of its own, such as the kernel's view of a socket.</summary>
    public static Task UntilAsync(Func<bool> condition, string what) => UntilAsync(condition, () => Task.FromResult(what));

    /// <summary>The same, with a look at the scene where it was in vain.</summary>
    public static async Task UntilAsync(Func<bool> condition, Func<Task<string>> what)
    {
        for (var watch = Stopwatch.StartNew(); !condition(); await Task.Delay(1))
        {
            if (watch.Elapsed >= EngineTest.Patience)
            {
                Assert.Fail($"Waited in vain until {await what()}.");
            }
        }
    }

    /// <summary>Runs on a reactor's thread and brings the result back.</summary>
    public static Task<T> AskAsync<T>(this Reactor reactor, Func<T> question)
    {
        var response = new TaskCompletionSource<T>(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.Post(_ => response.SetResult(question()), null);
        return response.Task.Within();
    }

    /// <summary>Runs asynchronous code on a reactor's thread, and brings its end back from there.</summary>
    public static Task RunAsync(this Reactor reactor, Func<Task> code)
    {
        var end = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.Post(state => _ = InTaskAsync().ContinueWith(end.SetFromTask, TaskContinuationOptions.ExecuteSynchronously), null);
        return end.Task.Within();

        async Task InTaskAsync() => await code();
    }
}
