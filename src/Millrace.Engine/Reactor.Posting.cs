namespace Millrace.Engine;

/// <content>What other threads have done here.</content>
public sealed partial class Reactor
{
    /// <summary>
    /// Runs an action on the reactor's thread, soon, in order of posting; never, when the reactor has ended. Any thread. The action
    /// must not throw, and begins without ambient values (<see cref="AsyncLocal{T}"/>).
    /// </summary>
    public void Post(Action<object?> action, object? state)
    {
        ArgumentNullException.ThrowIfNull(action);
        _mailbox.Post(action, state);
    }

    /// <summary>As <see cref="Post"/>, but on the thread pool when the reactor has ended: somebody waits for it. Any thread.</summary>
    internal void PostContinuation(Action<object?> continuation, object? state) => _mailbox.PostContinuation(continuation, state);

    /// <summary>As <see cref="Post"/>; completes when the action has run, and so never when the reactor has ended. Any thread.</summary>
    internal Task PostAsync(Action action)
    {
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Post(
            _ =>
            {
                action();
                done.SetResult();
            },
            null);
        return done.Task;
    }
}
