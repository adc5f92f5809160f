using System.Threading.Tasks.Sources;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>A result that is handed on to somebody who waits elsewhere.</summary>
internal static class Arrivals
{
    /// <summary>Ends the wait as the task has ended, which it has.</summary>
    public static void SetResultOf<T>(this ref ManualResetValueTaskSourceCore<T> wait, ValueTask<T> ended)
    {
        T result;
        try
        {
            result = ended.GetAwaiter().GetResult();
        }
#pragma warning disable CA1031 // Whatever it ended with is told to whoever waits.
        catch (Exception error)
#pragma warning restore CA1031
        {
            wait.SetException(error);
            return;
        }

        wait.SetResult(result);
    }
}
