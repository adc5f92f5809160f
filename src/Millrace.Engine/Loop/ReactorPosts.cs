namespace Millrace.Engine;

/// <summary>Posts to a reactor that other threads await.</summary>
internal static class ReactorPosts
{
    /// <summary>As <see cref="Reactor.Post"/>; completes when the action has run, and fails with what it threw. Any thread.</summary>
    /// <exception cref="ObjectDisposedException">The reactor has ended; the action does not run.</exception>
    public static Task PostAsync(this Reactor reactor, Action action)
    {
        ArgumentNullException.ThrowIfNull(action);
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.PostContinuation(_ => Run(reactor, action, done), null);
        return done.Task;
    }

    /// <summary>Completes when all earlier posts have run, or the reactor has ended and they never will. Any thread.</summary>
    public static Task PostsDoneAsync(this Reactor reactor)
    {
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.PostContinuation(static done => ((TaskCompletionSource)done!).SetResult(), done);
        return done.Task;
    }

    /// <summary>Runs on another thread only if the reactor has ended.</summary>
    private static void Run(Reactor reactor, Action action, TaskCompletionSource done)
    {
        if (!reactor.IsReactorThread)
        {
            done.SetException(new ObjectDisposedException(nameof(Reactor), "The reactor has ended."));
            return;
        }

        try
        {
            action();
        }
#pragma warning disable CA1031 // The exception is reported through the task.
        catch (Exception error)
#pragma warning restore CA1031
        {
            done.SetException(error);
            return;
        }

        done.SetResult();
    }
}
