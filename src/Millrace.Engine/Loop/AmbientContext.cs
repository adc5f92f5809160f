namespace Millrace.Engine.Loop;

/// <summary>
/// Ambient values (<see cref="AsyncLocal{T}"/>) of a reactor's thread. Handlers and posted actions start with none, whatever ran before: an
/// async method restores them by itself, but values that other code sets stay on the thread.
/// </summary>
internal sealed class AmbientContext
{
    /// <summary>The thread's own context, which has no values.</summary>
    private ExecutionContext? _own;

    /// <summary>Called once, at the start of the thread.</summary>
    public void Capture() => _own = ExecutionContext.Capture();

    /// <summary>Switches to the thread's own context and returns the previous one; null where its flow was suppressed.</summary>
    public ExecutionContext? Leave()
    {
        ExecutionContext? previous = ExecutionContext.Capture();
        Clear();
        return previous;
    }

    public void Clear() => ReturnTo(_own);

    /// <summary>Switches back to a context that <see cref="Leave"/> returned.</summary>
    public static void ReturnTo(ExecutionContext? context)
    {
        if (context is not null && ExecutionContext.Capture() != context)
        {
            ExecutionContext.Restore(context);
        }
    }
}
