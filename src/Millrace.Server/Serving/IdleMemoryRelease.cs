using System.Runtime;
using Millrace.Engine;
using Millrace.Interop.Memory;

namespace Millrace.Server.Serving;

/// <summary>
/// Returns memory of a load peak, which the garbage collector and the C library keep, to the system when all reactors of a group are idle:
/// otherwise the process would stay at its largest size. Called on reactors' threads; works on the thread pool. Requests do not wait for
/// it: collecting such a small heap takes some ten milliseconds, and there is no traffic then.
/// </summary>
internal sealed class IdleMemoryRelease : IThreadPoolWorkItem
{
    /// <summary>With fewer completions in total there was no peak.</summary>
    private const long PeakCompletions = 10_000;

    private volatile ReactorGroup? _group;
    private long _completionsSeen;
    private int _isQueued;

    /// <summary>Sets the group whose reactors must be idle.</summary>
    public void Attach(ReactorGroup group) => _group = group;

    /// <summary>Called when a reactor has had almost no traffic for a period.</summary>
    public void OnIdle()
    {
        if (Interlocked.Exchange(ref _isQueued, 1) == 0)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    void IThreadPoolWorkItem.Execute()
    {
        Volatile.Write(ref _isQueued, 0);
        if (_group is not { } group || !group.Reactors.All(static reactor => reactor.IsIdle))
        {
            // Each reactor calls this again while it has some traffic, and once more when it has none.
            return;
        }

        long completions = group.Reactors.Sum(static reactor => reactor.Counters.Completions);
        if (completions - _completionsSeen < PeakCompletions)
        {
            return;
        }

        _completionsSeen = completions;

        GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        MemoryCalls.TrimHeap();
    }
}
