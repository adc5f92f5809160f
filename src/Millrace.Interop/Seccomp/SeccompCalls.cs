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

    private static nint Number => SystemCall.On<nint>(RuntimeInformation.ProcessArchitecture, x64: 317, arm64: 277);
}

/// <summary><c>struct sock_fprog</c>.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct ProgramDescription
{
    public ushort Count;
    public FilterInstruction* Instructions;
}

/// <summary><c>struct sock_filter</c>: one instruction of classic BPF.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct FilterInstruction(ushort code, byte ifTrue, byte ifFalse, uint operand)
{
    public readonly ushort Code = code;
    public readonly byte IfTrue = ifTrue;
    public readonly byte IfFalse = ifFalse;
    public readonly uint Operand = operand;
}

/// <summary>Codes of classic BPF (<c>linux/bpf_common.h</c>): those for seccomp, and those that choose a socket.</summary>
internal static class FilterCode
{
    /// <summary>
    /// <c>BPF_LD | BPF_W | BPF_ABS</c>: a word of <c>struct seccomp_data</c>, or one of a datagram, which is in network order.
    /// </summary>
    public const ushort Load = 0x20;

    /// <summary><c>BPF_LD | BPF_B | BPF_ABS</c>: a byte of a datagram. Beyond its end the program returns 0.</summary>
    public const ushort LoadByte = 0x30;

    /// <summary><c>BPF_ST</c>: into the program's memory.</summary>
    public const ushort Store = 0x02;

    /// <summary><c>BPF_LDX | BPF_MEM</c>: from the program's memory into the index register.</summary>
    public const ushort LoadIndex = 0x61;

    /// <summary><c>BPF_MISC | BPF_TAX</c>.</summary>
    public const ushort CopyToIndex = 0x07;

    /// <summary><c>BPF_ALU | BPF_MUL | BPF_K</c>, modulo 2^32.</summary>
    public const ushort Multiply = 0x24;

    /// <summary><c>BPF_ALU | BPF_RSH | BPF_K</c>.</summary>
    public const ushort ShiftRight = 0x74;

    /// <summary><c>BPF_ALU | BPF_XOR | BPF_K</c>.</summary>
    public const ushort Xor = 0xA4;

    /// <summary><c>BPF_ALU | BPF_XOR | BPF_X</c>: with the index register.</summary>
    public const ushort XorIndex = 0xAC;

    /// <summary><c>BPF_ALU | BPF_MOD | BPF_K</c>.</summary>
    public const ushort Modulo = 0x94;

    /// <summary><c>BPF_JMP | BPF_JA</c>.</summary>
    public const ushort Skip = 0x05;

    /// <summary><c>BPF_RET | BPF_A</c>.</summary>
    public const ushort ReturnResult = 0x16;

    /// <summary><c>BPF_JMP | BPF_JEQ | BPF_K</c>.</summary>
    public const ushort IfEqual = 0x15;

    /// <summary><c>BPF_JMP | BPF_JGE | BPF_K</c>.</summary>
    public const ushort IfAtLeast = 0x35;

    /// <summary><c>BPF_JMP | BPF_JSET | BPF_K</c>.</summary>
    public const ushort IfHas = 0x45;

    /// <summary><c>BPF_RET | BPF_K</c>.</summary>
    public const ushort Return = 0x06;
}

/// <summary>Offsets in <c>struct seccomp_data</c>, on little-endian machines.</summary>
internal static class FilterData
{
    public const uint Number = 0;
    public const uint Architecture = 4;
    public const uint FirstArgument = 16;
}

/// <summary><c>SECCOMP_RET_*</c>; an errno is added to <see cref="Fail"/>.</summary>
internal static class FilterVerdict
{
    public const uint Allow = 0x7FFF_0000;
    public const uint Fail = 0x0005_0000;
    public const uint KillProcess = 0x8000_0000;
}
