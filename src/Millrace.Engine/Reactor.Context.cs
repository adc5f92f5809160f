namespace Millrace.Engine;

/// <content>
/// Ambient values (<see cref="AsyncLocal{T}"/>). Handlers and posts begin with none, whoever ran before or called them: an async method
/// brings its own along and leaves none, but what other code sets stays on the thread.
/// </content>
public sealed partial class Reactor
{
    /// <summary>That of the thread, which was started without one.</summary>
    private ExecutionContext? _ownContext;

    /// <summary>
    /// Goes on in the reactor's own context, and returns the one that was left; null where that was not to be passed on, and can be had by
    /// nobody.
    /// </summary>
    internal ExecutionContext? LeaveContext()
    {
        ExecutionContext? left = ExecutionContext.Capture();
        ReturnTo(_ownContext);
        return left;
    }

    /// <summary>Goes on in a context that was left.</summary>
    internal static void ReturnTo(ExecutionContext? context)
    {
        if (context is not null && ExecutionContext.Capture() != context)
        {
            ExecutionContext.Restore(context);
        }
    }

    private void BeginPost()
    {
        Pulse.Beat();
        ReturnTo(_ownContext);
    }
}
