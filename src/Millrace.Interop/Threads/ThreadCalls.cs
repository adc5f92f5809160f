using System.Runtime.InteropServices;

namespace Millrace.Interop.Threads;

/// <summary>System calls on the calling thread. Each returns what the kernel does, or -errno.</summary>
internal static partial class ThreadCalls
{
    private const int PriorityOfProcess = 0;

    /// <summary>
    /// Makes the calling thread nicer (<c>setpriority(2)</c>; 19 is nicest, about a seventieth of the share of 0): 0 or -errno.
    /// On Linux the nice value is the thread's own, not the process's; .NET's ThreadPriority does nothing there.
    /// </summary>
    public static int SetNiceness(int niceness) => SystemCall.Result(setpriority(PriorityOfProcess, 0, niceness));

    /// <summary>The calling thread's nice value.</summary>
    public static int GetNiceness() => getpriority(PriorityOfProcess, 0);

    /// <summary>The calling thread's number (<c>gettid(2)</c>).</summary>
    public static int GetId() => gettid();

    [LibraryImport("libc")]
    private static partial int gettid();

    [LibraryImport("libc")]
    private static partial int setpriority(int which, uint who, int priority);

    [LibraryImport("libc")]
    private static partial int getpriority(int which, uint who);
}
