using Microsoft.AspNetCore.Http;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Reports to a request's policy how long its code blocks threads off the reactor, before its first await and after each: a change
/// notification of the execution context marks where a thread begins and stops running the request. Stops at the end of the request,
/// although work that the request started may continue. Any thread.
/// </summary>
internal sealed class BlockingTracker(BlockingPolicy policy, EndpointStatisticsTable endpoints)
{
    private static readonly AsyncLocal<BlockingTracker?> Running = new(OnChanged);

    /// <summary>Started when this thread began to run the current part of the request.</summary>
    [ThreadStatic]
    private static BlockedTimeMeter Meter;

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
        if (change.PreviousValue is { _hasEnded: false } previous && Meter.EndMicroseconds() is > 0 and var blocked)
        {
            previous.Note(blocked);
        }

        if (change.CurrentValue is { _hasEnded: false })
        {
            Meter = BlockedTimeMeter.Begin();
        }
    }

    private void Note(long blockedMicroseconds) => policy.NoteBlockedOffReactor(blockedMicroseconds, endpoints.NowMs);
}
