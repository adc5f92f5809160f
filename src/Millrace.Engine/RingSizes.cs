using System.Numerics;

namespace Millrace.Engine;

/// <summary>
/// The sizes to try when the kernel has no memory to lock for the rings. First the same sizes again: freed locked memory is counted until
/// the kernel has released it (5 ms clear most of it; a restart meets this). Then rings and receive buffers half as large, down to sizes
/// that would cost more in system calls than they save in memory. The smallest are retried with longer pauses: a failed attempt's rings are
/// released only after an RCU grace period and a kernel thread's run, which takes hundreds of milliseconds on a busy machine.
/// </summary>
internal static class RingSizes
{
    private const int MinSubmissions = 32;
    private const int MinCompletions = 256;
    private const int MinReceiveBuffers = 64;

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

    /// <summary>Sizes below the minimum stay as they are.</summary>
    private static EngineOptions Halve(EngineOptions options)
    {
        int submissions = Half(options.SubmissionEntries, MinSubmissions);
        int completions = Half(options.CompletionEntries, MinCompletions);
        return options with
        {
            SubmissionEntries = submissions,
            CompletionEntries = Math.Max(completions, (int)BitOperations.RoundUpToPowerOf2((uint)submissions)),
            ReceiveBuffers = Half(options.ReceiveBuffers, MinReceiveBuffers),
        };
    }

    private static int Half(int size, int min) => Math.Min(size, Math.Max(size / 2, min));
}
