using System.Diagnostics;
using Millrace.Interop.Threads;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Measures how long code blocked its thread: the time between begin and end in which the thread had no processor, counted only if the
/// thread gave the processor up voluntarily at least once. A preempted thread has not waited. Begin and end run on the same thread; a
/// measurement costs half a microsecond.
/// </summary>
internal readonly struct BlockedTimeMeter
{
    private readonly long _began;
    private readonly ThreadUsage _usage;

    private BlockedTimeMeter(long began, ThreadUsage usage) => (_began, _usage) = (began, usage);

    public static BlockedTimeMeter Begin() => new(Stopwatch.GetTimestamp(), ThreadCalls.GetUsage());

    public long EndMicroseconds()
    {
        ThreadUsage usage = ThreadCalls.GetUsage();
        if (usage.Waits == _usage.Waits)
        {
            return 0;
        }

        long passed = (long)Stopwatch.GetElapsedTime(_began).TotalMicroseconds;
        return Math.Max(0, passed - (usage.RanMicroseconds - _usage.RanMicroseconds));
    }
}
