using System.Threading.Tasks.Sources;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>Forwards the result of a completed task to a value task source.</summary>
internal static class ResultForwarding
{
    public static void SetResultOf<T>(this ref ManualResetValueTaskSourceCore<T> wait, ValueTask<T> ended)
    {
        T result;
        try
        {
            result = ended.GetAwaiter().GetResult();
        }
#pragma warning disable CA1031 // Any exception is passed to the awaiting code.
        catch (Exception error)
#pragma warning restore CA1031
        {
            wait.SetException(error);
            return;
        }

        wait.SetResult(result);
    }
}
