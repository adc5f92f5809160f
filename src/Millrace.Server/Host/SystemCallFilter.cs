using System.Runtime.InteropServices;
using Millrace.Interop;
using Millrace.Interop.Seccomp;

namespace Millrace.Server.Host;

/// <summary>
/// Builds programs for seccomp(2). Pure: <see cref="Sandbox"/> installs them. A denied call fails with an error and does not kill the
/// process, as libraries may try it and continue without.
/// </summary>
internal static class SystemCallFilter
{
    /// <summary><c>AUDIT_ARCH_*</c> of <c>linux/audit.h</c>.</summary>
    private const uint AuditX64 = 0xC000_003E;
    private const uint AuditArm64 = 0xC000_00B7;

    /// <summary>From this number on x64 has the x32 ABI's numbers for the same calls.</summary>
    private const uint FirstX32Number = 0x4000_0000;

    /// <summary><c>CLONE_THREAD</c>: without it the call creates a process.</summary>
    private const uint CloneThread = 0x0001_0000;

    /// <summary>AF_UNIX, AF_INET, AF_INET6, AF_NETLINK (used by getaddrinfo and for the list of local addresses).</summary>
    private static readonly uint[] SocketFamilies = [1, 2, 10, 16];

    /// <summary>Allows everything, which the kernel optimizes away: it applies no_new_privs to all threads.</summary>
    public static FilterInstruction[] Nothing => [Return(FilterVerdict.Allow)];

    /// <summary>Denies system calls that serving does not need.</summary>
    public static FilterInstruction[] Build(Architecture architecture)
    {
        bool isX64 = architecture == Architecture.X64;
        (uint clone, uint clone3, uint socket) = isX64 ? (56u, 435u, 41u) : (220u, 435u, 198u);
        var program = new List<FilterInstruction>
        {
            // On another architecture the numbers would mean other calls.
            Load(FilterData.Architecture),
            IfEqual(isX64 ? AuditX64 : AuditArm64, skip: 1),
            Return(FilterVerdict.KillProcess),
            Load(FilterData.Number),
        };
        if (isX64)
        {
            program.Add(new FilterInstruction(FilterCode.IfAtLeast, 0, 1, FirstX32Number));
            program.Add(Fail(Errno.ENOSYS));
        }

        AddOnFirstArgument(program, clone,
        [
            new FilterInstruction(FilterCode.IfHas, 1, 0, CloneThread),
            Fail(Errno.EPERM),
            Return(FilterVerdict.Allow),
        ]);

        // clone3 passes its flags in memory, which filters cannot read. Libraries fall back to clone on ENOSYS.
        AddVerdict(program, clone3, Fail(Errno.ENOSYS));
        AddOnFirstArgument(program, socket,
        [
            .. SocketFamilies.Select((family, i) => IfEqual(family, skip: SocketFamilies.Length - i)),
            Fail(Errno.EAFNOSUPPORT),
            Return(FilterVerdict.Allow),
        ]);
        foreach (uint number in DeniedSystemCall.All.Select(call => isX64 ? call.X64 : call.Arm64).OfType<uint>())
        {
            AddVerdict(program, number, Fail(Errno.EPERM));
        }

        program.Add(Return(FilterVerdict.Allow));
        return [.. program];
    }

    /// <summary>
    /// Decides on one call by its first argument. Each path must return a verdict, as the call number is no longer loaded.
    /// </summary>
    private static void AddOnFirstArgument(List<FilterInstruction> program, uint number, FilterInstruction[] decision)
    {
        program.Add(new FilterInstruction(FilterCode.IfEqual, 0, (byte)(decision.Length + 1), number));
        program.Add(Load(FilterData.FirstArgument));
        program.AddRange(decision);
    }

    private static void AddVerdict(List<FilterInstruction> program, uint number, FilterInstruction verdict)
    {
        program.Add(new FilterInstruction(FilterCode.IfEqual, 0, 1, number));
        program.Add(verdict);
    }

    private static FilterInstruction Load(uint offset) => new(FilterCode.Load, 0, 0, offset);

    private static FilterInstruction IfEqual(uint value, int skip) => new(FilterCode.IfEqual, (byte)skip, 0, value);

    private static FilterInstruction Return(uint verdict) => new(FilterCode.Return, 0, 0, verdict);

    private static FilterInstruction Fail(int errno) => Return(FilterVerdict.Fail | (uint)errno);
}

/// <summary>A system call that is not needed while serving.</summary>
internal sealed record DeniedSystemCall(string Name, uint X64, uint? Arm64)
{
    /// <summary>
    /// A deny list instead of an allow list: the runtime, libc and OpenSSL use different calls with each version, and an allow list that
    /// lacks one fails under load. (The systemd unit also has an allow list, which the distribution maintains.)
    /// </summary>
    public static readonly DeniedSystemCall[] All =
    [
        // The clock.
        new("adjtimex", 159, 171), new("clock_adjtime", 305, 266), new("clock_settime", 227, 112), new("settimeofday", 164, 170),
        // Debugging and measuring other processes.
        new("bpf", 321, 280), new("perf_event_open", 298, 241), new("pidfd_getfd", 438, 438), new("process_vm_readv", 310, 270),
        new("process_vm_writev", 311, 271), new("ptrace", 101, 117), new("lookup_dcookie", 212, 18), new("userfaultfd", 323, 282),
        new("kcmp", 312, 272),
        // Keys of the kernel.
        new("add_key", 248, 217), new("keyctl", 250, 219), new("request_key", 249, 218),
        // Modules of the kernel.
        new("create_module", 174, null), new("delete_module", 176, 106), new("finit_module", 313, 273),
        new("init_module", 175, 105), new("get_kernel_syms", 177, null), new("query_module", 178, null),
        // Mounts.
        new("chroot", 161, 51), new("fsconfig", 431, 431), new("fsmount", 432, 432), new("fsopen", 430, 430),
        new("fspick", 433, 433), new("mount", 165, 40), new("mount_setattr", 442, 442), new("move_mount", 429, 429),
        new("open_tree", 428, 428), new("pivot_root", 155, 41), new("umount2", 166, 39),
        // Namespaces.
        new("setns", 308, 268), new("unshare", 272, 97),
        // Ports of devices.
        new("ioperm", 173, null), new("iopl", 172, null),
        // Power, another kernel, swap.
        new("kexec_file_load", 320, 294), new("kexec_load", 246, 104), new("reboot", 169, 142), new("swapoff", 168, 225),
        new("swapon", 167, 224),
        // Settings of the system, and calls that nothing uses any more.
        new("acct", 163, 89), new("nfsservctl", 180, 42), new("quotactl", 179, 60), new("quotactl_fd", 443, 443),
        new("sethostname", 170, 161), new("setdomainname", 171, 162), new("syslog", 103, 116), new("vhangup", 153, 58),
        new("_sysctl", 156, null), new("sysfs", 139, null), new("ustat", 136, null), new("uselib", 134, null),
        new("fanotify_init", 300, 262), new("open_by_handle_at", 304, 265), new("modify_ldt", 154, null),
        new("personality", 135, 92),
        // Users and their rights.
        new("capset", 126, 91), new("setfsgid", 123, 152), new("setfsuid", 122, 151), new("setgid", 106, 144),
        new("setgroups", 116, 159), new("setregid", 114, 143), new("setresgid", 119, 149), new("setresuid", 117, 147),
        new("setreuid", 113, 145), new("setuid", 105, 146),
        // Programs and forks.
        new("execve", 59, 221), new("execveat", 322, 281), new("fork", 57, null), new("vfork", 58, null),
        // Another ring: operations through a ring bypass the filter. The reactors have their rings by then.
        new("io_uring_setup", 425, 425),
    ];
}
