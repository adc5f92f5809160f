namespace Millrace.Interop.Tests.Abi;

/// <summary>linux/seccomp.h and linux/filter.h.</summary>
internal static class SeccompAbi
{
    public static AbiEntry[] Structures =>
    [
        ("FilterInstruction", "sizeof(struct sock_filter)", 8),
        ("FilterInstruction.Code", "offsetof(struct sock_filter, code)", 0),
        ("FilterInstruction.IfTrue", "offsetof(struct sock_filter, jt)", 2),
        ("FilterInstruction.IfFalse", "offsetof(struct sock_filter, jf)", 3),
        ("FilterInstruction.Operand", "offsetof(struct sock_filter, k)", 4),
        ("ProgramDescription", "sizeof(struct sock_fprog)", 16),
        ("ProgramDescription.Count", "offsetof(struct sock_fprog, len)", 0),
        ("ProgramDescription.Instructions", "offsetof(struct sock_fprog, filter)", 8),
    ];

    public static AbiEntry[] Constants =>
    [
        ("FilterCode.Load", "BPF_LD | BPF_W | BPF_ABS", 0x20),
        ("FilterCode.LoadByte", "BPF_LD | BPF_B | BPF_ABS", 0x30),
        ("FilterCode.Store", "BPF_ST", 0x02),
        ("FilterCode.LoadIndex", "BPF_LDX | BPF_MEM", 0x61),
        ("FilterCode.CopyToIndex", "BPF_MISC | BPF_TAX", 0x07),
        ("FilterCode.Multiply", "BPF_ALU | BPF_MUL | BPF_K", 0x24),
        ("FilterCode.ShiftRight", "BPF_ALU | BPF_RSH | BPF_K", 0x74),
        ("FilterCode.Xor", "BPF_ALU | BPF_XOR | BPF_K", 0xA4),
        ("FilterCode.XorIndex", "BPF_ALU | BPF_XOR | BPF_X", 0xAC),
        ("FilterCode.Modulo", "BPF_ALU | BPF_MOD | BPF_K", 0x94),
        ("FilterCode.Skip", "BPF_JMP | BPF_JA", 0x05),
        ("FilterCode.ReturnResult", "BPF_RET | BPF_A", 0x16),
        ("FilterCode.IfEqual", "BPF_JMP | BPF_JEQ | BPF_K", 0x15),
        ("FilterCode.IfAtLeast", "BPF_JMP | BPF_JGE | BPF_K", 0x35),
        ("FilterCode.IfHas", "BPF_JMP | BPF_JSET | BPF_K", 0x45),
        ("FilterCode.Return", "BPF_RET | BPF_K", 0x06),
        ("FilterData.Number", "offsetof(struct seccomp_data, nr)", 0),
        ("FilterData.Architecture", "offsetof(struct seccomp_data, arch)", 4),
        ("FilterData.FirstArgument", "offsetof(struct seccomp_data, args)", 16),
        ("FilterVerdict.Allow", "SECCOMP_RET_ALLOW", 0x7FFF_0000),
        ("FilterVerdict.Fail", "SECCOMP_RET_ERRNO", 0x0005_0000),
        ("FilterVerdict.KillProcess", "(unsigned)SECCOMP_RET_KILL_PROCESS", 0x8000_0000),
        ("SeccompCalls.SetModeFilter", "SECCOMP_SET_MODE_FILTER", 1),
        ("SeccompCalls.SynchroniseThreads", "SECCOMP_FILTER_FLAG_TSYNC", 1),
        ("SeccompCalls.AllowSpeculation", "SECCOMP_FILTER_FLAG_SPEC_ALLOW", 4),
    ];
}
