namespace Millrace.Engine;

/// <content>Posts from other threads, and continuations for a later iteration.</content>
public sealed partial class Reactor
{
    /// <summary>
    /// Runs an action on the reactor's thread, in order of posting; never, if the reactor has ended. The action must not throw, and starts
    /// without ambient values (<see cref="AsyncLocal{T}"/>). Any thread.
    /// </summary>
    public void Post(Action<object?> action, object? state)
    {
        ArgumentNullException.ThrowIfNull(action);
        _mailbox.Post(action, state);
    }

    /// <summary>
    /// As <see cref="Post"/>, but runs on the thread pool if the reactor has ended, so that no awaiter hangs. Any thread.
    /// </summary>
    internal void PostContinuation(Action<object?> continuation, object? state) => _mailbox.PostContinuation(continuation, state);

    /// <summary>As <see cref="Post"/>; completes when the action has run, and fails with what it threw. Any thread.</summary>
    /// <exception cref="ObjectDisposedException">The reactor has ended; the action does not run.</exception>
    internal Task PostAsync(Action action)
    {
        ArgumentNullException.ThrowIfNull(action);
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        PostContinuation(_ => RunFor(done, action), null);
        return done.Task;
    }

    /// <summary>Completes when all earlier posts have run, or the reactor has ended and they never will. Any thread.</summary>
    internal Task PostsDoneAsync()
    {
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        PostContinuation(static done => ((TaskCompletionSource)done!).SetResult(), done);
        return done.Task;
    }

    /// <summary>Runs on another thread only if the reactor has ended.</summary>
    private void RunFor(TaskCompletionSource done, Action action)
    {
        if (!IsReactorThread)
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

    /// <summary>
    /// Switches to the reactor's thread: <c>await connection.Reactor.SwitchTo();</c>. If the reactor has ended, the await throws
    /// <see cref="ObjectDisposedException"/> on the thread pool. Any thread.
    /// </summary>
    public ReactorAwaitable SwitchTo() => new(this);

    /// <summary>Lets a handler with much to do continue in the next loop iteration, after all other connections. Reactor thread.</summary>
    public YieldAwaitable Yield()
    {
        AssertReactorThread();
        return new YieldAwaitable(this);
    }

    /// <summary>Runs a continuation in a later iteration, after those postponed before.</summary>
    internal void Postpone(Action continuation)
    {
        AssertReactorThread();
        _yielded.Add(continuation);
    }
}
