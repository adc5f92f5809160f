namespace Millrace.AspNetCore.Transport.Listening;

/// <summary>Waits for reactors, which go on when the handler that they run lets them, and if it does not, never.</summary>
internal static class Patiently
{
    /// <summary>Whether a task has ended in time; what it fails with is thrown then. One that has not goes on by itself.</summary>
    public static async Task<bool> IsDoneAsync(Task task, TimeSpan patience)
    {
        await task.WaitAsync(patience).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (!task.IsCompleted)
        {
            return false;
        }

        await task.ConfigureAwait(false);
        return true;
    }
}
