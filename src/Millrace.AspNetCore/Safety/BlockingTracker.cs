using System.Diagnostics;
using Microsoft.AspNetCore.Http;
using Millrace.Interop.Threads;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Measures how long a request's code blocks threads off the reactor, before its first await and after each: a change notification of the
/// execution context marks where a thread begins and stops running the request. Blocked is the time in which the thread had no processor,
/// if it gave that up voluntarily: a preempted thread has not waited. Stops at the end of the request, although work that the request
/// started may continue. Any thread; half a microsecond for each part.
/// </summary>
internal sealed class BlockingTracker(BlockingPolicies policies, BlockingPolicy policy)
{
    private static readonly AsyncLocal<BlockingTracker?> Running = new(OnChanged);

    /// <summary>When this thread began to run the current part of the request, and its usage then.</summary>
    [ThreadStatic]
    private static (long Timestamp, ThreadUsage Usage) Begin;

    private volatile bool _hasEnded;

    /// <summary>Runs the request up to its first incomplete await.</summary>
    public Task Run(HttpContext context, RequestDelegate run)
    {
        BlockingTracker? outer = Running.Value;
        Running.Value = this;
        try
        {
            return run(context);
        }
        finally
        {
            Running.Value = outer;
        }
    }

    public void End() => _hasEnded = true;

    /// <summary>Must not throw: an exception here ends the process.</summary>
    private static void OnChanged(AsyncLocalValueChangedArgs<BlockingTracker?> change)
    {
        if (change.PreviousValue is { _hasEnded: false } previous)
        {
            previous.EndPart();
        }

        if (change.CurrentValue is { _hasEnded: false })
        {
            Begin = (Stopwatch.GetTimestamp(), ThreadCalls.GetUsage());
        }
    }

    private void EndPart()
    {
        (long began, ThreadUsage before) = Begin;
        ThreadUsage usage = ThreadCalls.GetUsage();
        if (usage.Waits != before.Waits)
        {
            long ran = usage.RanMicroseconds - before.RanMicroseconds;
            long blocked = (long)Stopwatch.GetElapsedTime(began).TotalMicroseconds - ran;
            policies.NoteBlockedOffReactor(policy, Math.Max(0, blocked));
        }
    }
}
