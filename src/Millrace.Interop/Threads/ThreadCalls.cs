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

    /// <summary>
    /// From here on the calling thread, and no other, has a user's rights over files (<c>setfsuid(2)</c>), without any of root's: 0, or
    /// -EPERM for who is not root. For a thread that ends thereafter: its groups are not told back.
    /// </summary>
    public static unsafe int SetFileRights(uint user, uint group, ReadOnlySpan<uint> groups)
    {
        bool isX64 = RuntimeInformation.ProcessArchitecture == Architecture.X64;
        (nint setGroups, nint setFileUser, nint setFileGroup) = isX64 ? (116, 122, 123) : (159, 151, 152);
        fixed (uint* pointer = groups)
        {
            int result = SystemCall.InvokeOwn(setGroups, groups.Length, (nint)pointer);
            if (result < 0)
            {
                return result;
            }
        }

        // They give what was before and never an error: only the next call tells whether it was done.
        _ = SystemCall.InvokeOwn(setFileGroup, (nint)group, 0);
        _ = SystemCall.InvokeOwn(setFileUser, (nint)user, 0);
        bool isDone = SystemCall.InvokeOwn(setFileGroup, (nint)group, 0) == (int)group
            && SystemCall.InvokeOwn(setFileUser, (nint)user, 0) == (int)user;
        return isDone ? 0 : -Errno.EPERM;
    }

    /// <summary>
    /// On which processors a thread, told by its number, may run: one bit each, the first one the lowest of the first byte. 0, or -EINVAL
    /// where the kernel knows more processors than there are bits.
    /// </summary>
    public static unsafe int GetAffinity(int thread, Span<byte> mask)
    {
        fixed (byte* pointer = mask)
        {
            return SystemCall.Result(sched_getaffinity(thread, (nuint)mask.Length, pointer));
        }
    }

    /// <summary>Has the calling thread run on these processors only: 0, or -EINVAL where the process may use none of them.</summary>
    public static unsafe int SetAffinity(ReadOnlySpan<byte> mask)
    {
        fixed (byte* pointer = mask)
        {
            return SystemCall.Result(sched_setaffinity(0, (nuint)mask.Length, pointer));
        }
    }

    /// <summary>The calling thread's number (<c>gettid(2)</c>).</summary>
    public static int GetId() => gettid();

    [LibraryImport("libc")]
    private static partial int gettid();

    [LibraryImport("libc")]
    private static unsafe partial int sched_getaffinity(int thread, nuint bytes, byte* mask);

    [LibraryImport("libc")]
    private static unsafe partial int sched_setaffinity(int thread, nuint bytes, byte* mask);

    [LibraryImport("libc")]
    private static partial int setpriority(int which, uint who, int priority);

    [LibraryImport("libc")]
    private static partial int getpriority(int which, uint who);
}
