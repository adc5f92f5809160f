using System.Runtime.InteropServices;

namespace Millrace.Interop.Seccomp;

/// <summary>Filters for the system calls of a process (<c>seccomp(2)</c>).</summary>
internal static unsafe class SeccompCalls
{
    private const int SetModeFilter = 1;
    private const uint SynchroniseThreads = 1;

    /// <summary>
    /// Without this flag kernels before 5.16 slow a filtered process down by Spectre mitigations, as if it ran untrusted code.
    /// </summary>
    private const uint AllowSpeculation = 4;

    /// <summary>
    /// Applies a filter, and the calling thread's no_new_privs, to all threads of this process: 0, -errno, or the id of a thread that
    /// already has other filters.
    /// </summary>
    public static int Install(ReadOnlySpan<FilterInstruction> program)
    {
        fixed (FilterInstruction* instructions = program)
        {
            var description = new ProgramDescription { Count = (ushort)program.Length, Instructions = instructions };
            nint flags = (nint)(SynchroniseThreads | AllowSpeculation);
            return SystemCall.Invoke(Number, SetModeFilter, flags, (nint)(&description));
        }
    }

    private static nint Number => RuntimeInformation.ProcessArchitecture switch
    {
        Architecture.X64 => 317,
        Architecture.Arm64 => 277,
        _ => throw new PlatformNotSupportedException("The engine runs on x64 and arm64."),
    };

    /// <summary><c>struct sock_fprog</c>.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct ProgramDescription
    {
        public ushort Count;
        public FilterInstruction* Instructions;
    }
}
