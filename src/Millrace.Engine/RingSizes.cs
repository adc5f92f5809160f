using System.Numerics;

namespace Millrace.Engine;

/// <summary>
/// What is tried, one after the other, while the kernel has no memory to lock for the rings. First the same again: what a process gave
/// back is counted until the kernel has worked it off (a relative measured that 5 ms clear most of it; a restart meets this). Then
/// rings and receive buffers half as large, down to where they would cost more in system calls than they save in memory. These last ones
/// are waited for: an attempt that had some of its rings leaves them behind for the next one, until a grace period of RCU is over and a
/// kernel thread has run, which on a busy machine takes hundreds of milliseconds.
/// </summary>
internal static class RingSizes
{
    private const int LeastSubmissions = 32;
    private const int LeastCompletions = 256;
    private const int LeastReceiveBuffers = 64;

    private const int SmallerPauseMs = 10;

    private static readonly int[] PausesMs = [0, 5, 20, 75];
    private static readonly int[] LastPausesMs = [25, 75, 200, 400, 800];

    public static IEnumerable<(EngineOptions Options, int PauseMs)> Attempts(EngineOptions options)
    {
        foreach (int pauseMs in PausesMs)
        {
            yield return (options, pauseMs);
        }

        while (Halve(options) is { } smaller && smaller != options)
        {
            options = smaller;
            yield return (options, SmallerPauseMs);
        }

        foreach (int pauseMs in LastPausesMs)
        {
            yield return (options, pauseMs);
        }
    }

    /// <summary>Nothing grows: who asked for less than the least has it.</summary>
    private static EngineOptions Halve(EngineOptions options)
    {
        int submissions = Half(options.SubmissionEntries, LeastSubmissions);
        int completions = Half(options.CompletionEntries, LeastCompletions);
        return options with
        {
            SubmissionEntries = submissions,
            CompletionEntries = Math.Max(completions, (int)BitOperations.RoundUpToPowerOf2((uint)submissions)),
            ReceiveBuffers = Half(options.ReceiveBuffers, LeastReceiveBuffers),
        };
    }

    private static int Half(int size, int least) => Math.Min(size, Math.Max(size / 2, least));
}
