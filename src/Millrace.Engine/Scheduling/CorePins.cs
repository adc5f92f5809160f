using Millrace.Interop;
using Millrace.Interop.Threads;

namespace Millrace.Engine.Scheduling;

/// <summary>
/// Which core each reactor's thread stays on: by its number, of those that the process may use, which begin again where there are fewer.
/// Where it cannot be had, reactors go where the kernel puts them, and the log is told once. Threads that a pinned one starts are not
/// pinned with it: the runtime gives every new thread the cores of the process, which are those of its first thread. Any thread.
/// </summary>
/// <param name="cores">Their numbers.</param>
/// <param name="log">The group's.</param>
internal sealed class CorePins(IReadOnlyList<int> cores, EngineLog log)
{
    /// <summary>Eight times as many as any kernel has: it refuses a mask that is shorter than its own.</summary>
    private const int CoresMost = 65_536;

    private int _isTold;

    /// <summary>Those of the process; null where the kernel does not say.</summary>
    public static CorePins? Find(EngineLog log)
    {
        Span<byte> mask = stackalloc byte[CoresMost / 8];
        // The calling thread may be pinned itself.
        int result = ThreadCalls.GetAffinity(Environment.ProcessId, mask);
        if (result < 0)
        {
            log.Unpinned(Errno.Describe(result));
            return null;
        }

        var cores = new List<int>();
        for (int core = 0; core < CoresMost; core++)
        {
            if ((mask[core / 8] & (1 << (core % 8))) != 0)
            {
                cores.Add(core);
            }
        }

        return new CorePins(cores, log);
    }

    /// <summary>Has the calling thread, that of a reactor, stay where it belongs.</summary>
    public void Pin(int reactor)
    {
        int core = cores[reactor % cores.Count];
        Span<byte> mask = stackalloc byte[CoresMost / 8];
        mask[core / 8] = (byte)(1 << (core % 8));
        int result = ThreadCalls.SetAffinity(mask);
        if (result < 0 && Interlocked.Exchange(ref _isTold, 1) == 0)
        {
            log.Unpinned($"core {core}: {Errno.Describe(result)}");
        }
    }
}
