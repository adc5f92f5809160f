namespace Millrace.AspNetCore.Transport.Listening;

/// <summary>Waits for reactors with a timeout, as a handler that never returns blocks a reactor forever.</summary>
internal static class ReactorWait
{
    /// <summary>True if the task ended in time; its exception is rethrown then. Otherwise it continues unobserved.</summary>
    public static async Task<bool> IsDoneAsync(Task task, TimeSpan timeout)
    {
        await task.WaitAsync(timeout).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (!task.IsCompleted)
        {
            return false;
        }

        await task.ConfigureAwait(false);
        return true;
    }
}
