using System.Runtime.InteropServices;

namespace Millrace.Interop.Threads;

/// <summary>System calls on threads. Each returns the kernel's result, or -errno.</summary>
internal static partial class ThreadCalls
{
    private const int PriorityOfProcess = 0;

    /// <summary>
    /// Sets the calling thread's nice value (<c>setpriority(2)</c>; 19 is the lowest priority, about a seventieth of the share of 0): 0 or
    /// -errno. On Linux the nice value belongs to the thread, not the process; .NET's ThreadPriority has no effect there.
    /// </summary>
    public static int SetNiceness(int niceness) => SystemCall.Result(setpriority(PriorityOfProcess, 0, niceness));

    public static int GetNiceness() => getpriority(PriorityOfProcess, 0);

    /// <summary>
    /// Gives the calling thread alone a user's file access rights (<c>setfsuid(2)</c>), without root's: 0, or -EPERM without root rights.
    /// For a thread that ends afterwards: its groups are not restored.
    /// </summary>
    public static unsafe int SetFileRights(uint user, uint group, ReadOnlySpan<uint> groups)
    {
        (nint setGroups, nint setFileUser, nint setFileGroup) =
            SystemCall.On<(nint, nint, nint)>(RuntimeInformation.ProcessArchitecture, x64: (116, 122, 123), arm64: (159, 151, 152));
        fixed (uint* pointer = groups)
        {
            int result = SystemCall.Invoke(setGroups, groups.Length, (nint)pointer);
            if (result < 0)
            {
                return result;
            }
        }

        // Both calls return the previous value and never an error: a second call shows whether the first took effect.
        _ = SystemCall.Invoke(setFileGroup, (nint)group, 0);
        _ = SystemCall.Invoke(setFileUser, (nint)user, 0);
        bool isDone = SystemCall.Invoke(setFileGroup, (nint)group, 0) == (int)group
            && SystemCall.Invoke(setFileUser, (nint)user, 0) == (int)user;
        return isDone ? 0 : -Errno.EPERM;
    }

    /// <summary>
    /// The processors on which a thread, given by its id, may run: one bit each, lowest bit of the first byte first. 0, or -EINVAL if the
    /// kernel has more processors than there are bits.
    /// </summary>
    public static int GetAffinity(int thread, Span<byte> mask) =>
        SystemCall.Result(sched_getaffinity(thread, (nuint)mask.Length, mask));

    /// <summary>Restricts the calling thread to these processors: 0, or -EINVAL if the process may use none of them.</summary>
    public static int SetAffinity(ReadOnlySpan<byte> mask) => SystemCall.Result(sched_setaffinity(0, (nuint)mask.Length, mask));

    /// <summary>The calling thread's resource usage (<c>getrusage(2)</c>, RUSAGE_THREAD, which does not fail).</summary>
    public static unsafe ThreadUsage GetUsage()
    {
        const int Thread = 1;
        // Two times (seconds, microseconds) and fourteen counts, the last but one of which is ru_nvcsw.
        long* usage = stackalloc long[18];
        _ = getrusage(Thread, usage);
        return new ThreadUsage((1_000_000 * (usage[0] + usage[2])) + usage[1] + usage[3], usage[16]);
    }

    /// <summary>The calling thread's id (<c>gettid(2)</c>).</summary>
    public static int GetId() => gettid();

    [LibraryImport("libc")]
    private static unsafe partial int getrusage(int who, long* usage);

    [LibraryImport("libc")]
    private static partial int gettid();

    [LibraryImport("libc")]
    private static partial int sched_getaffinity(int thread, nuint bytes, Span<byte> mask);

    [LibraryImport("libc")]
    private static partial int sched_setaffinity(int thread, nuint bytes, ReadOnlySpan<byte> mask);

    [LibraryImport("libc")]
    private static partial int setpriority(int which, uint who, int priority);

    [LibraryImport("libc")]
    private static partial int getpriority(int which, uint who);
}

/// <summary>A thread's processor time since its start, and its voluntary context switches.</summary>
internal readonly record struct ThreadUsage(long RanMicroseconds, long Waits);
