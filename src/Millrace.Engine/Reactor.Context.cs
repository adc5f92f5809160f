namespace Millrace.Engine;

/// <content>
/// Ambient values (<see cref="AsyncLocal{T}"/>). Handlers and posted actions start with none, whatever ran before: an async method restores
/// them by itself, but values that other code sets stay on the thread.
/// </content>
public sealed partial class Reactor
{
    /// <summary>The thread's own context, which has no values.</summary>
    private ExecutionContext? _ownContext;

    /// <summary>Switches to the reactor's own context and returns the previous one; null where its flow was suppressed.</summary>
    internal ExecutionContext? LeaveContext()
    {
        ExecutionContext? previous = ExecutionContext.Capture();
        ReturnTo(_ownContext);
        return previous;
    }

    /// <summary>Switches back to a context that <see cref="LeaveContext"/> returned.</summary>
    internal static void ReturnTo(ExecutionContext? context)
    {
        if (context is not null && ExecutionContext.Capture() != context)
        {
            ExecutionContext.Restore(context);
        }
    }

    private void BeginPost()
    {
        Heartbeat.Beat();
        ReturnTo(_ownContext);
    }
}
