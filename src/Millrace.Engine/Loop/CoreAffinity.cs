using Millrace.Interop;
using Millrace.Interop.Threads;

namespace Millrace.Engine.Loop;

/// <summary>
/// Pins each reactor's thread to a core: by the reactor's index, modulo the cores that the process may use. If pinning fails the kernel
/// schedules the reactors, and one line is logged. Threads that a pinned one starts are not pinned with it: the runtime gives every new
/// thread the cores of the process, which are those of its first thread. Any thread.
/// </summary>
/// <param name="cores">The numbers of the cores.</param>
/// <param name="log">The group's log.</param>
internal sealed class CoreAffinity(IReadOnlyList<int> cores, EngineLog log)
{
    /// <summary>Eight times the most cores of any kernel, which refuses a mask shorter than its own.</summary>
    private const int CoresMax = 65_536;

    private int _isReported;

    /// <summary>The cores of the process; null where the kernel does not report them.</summary>
    public static CoreAffinity? Find(EngineLog log)
    {
        Span<byte> mask = stackalloc byte[CoresMax / 8];
        // Of the process, as the calling thread may itself be pinned.
        int result = ThreadCalls.GetAffinity(Environment.ProcessId, mask);
        if (result < 0)
        {
            Report(log, "sched_getaffinity", "the cores of the process", result);
            return null;
        }

        var cores = new List<int>();
        for (int core = 0; core < CoresMax; core++)
        {
            if ((mask[core / 8] & (1 << (core % 8))) != 0)
            {
                cores.Add(core);
            }
        }

        return new CoreAffinity(cores, log);
    }

    public void Pin(int reactor)
    {
        int core = cores[reactor % cores.Count];
        Span<byte> mask = stackalloc byte[CoresMax / 8];
        mask[core / 8] = (byte)(1 << (core % 8));
        int result = ThreadCalls.SetAffinity(mask);
        if (result < 0 && Interlocked.Exchange(ref _isReported, 1) == 0)
        {
            Report(log, "sched_setaffinity", $"core {core}", result);
        }
    }

    /// <summary>Logs why a call failed, with -errno, and what to do.</summary>
    internal static void Report(EngineLog log, string call, string cores, int error)
    {
        (string cause, string remedy) = -error switch
        {
            Errno.EPERM or Errno.EACCES or Errno.ENOSYS => ($"a sandbox forbids {call}", "Allow it there, or do not pin reactors"),
            Errno.EINVAL => ($"{cores} cannot be used by this process any more", "Restart to pin to those that can"),
            _ => ($"{call} failed ({Errno.Describe(error)})", "Do not pin reactors"),
        };
        log.Unpinned(cause, remedy);
    }
}
