namespace Millrace.Server.Host;

/// <summary>What an attacker could do with a system call.</summary>
internal enum DeniedCallReason
{
    Clock,
    Debug,
    Keys,
    Modules,
    Mounts,
    Namespaces,
    Ports,
    Power,

    /// <summary>Start a program, or fork.</summary>
    Programs,

    /// <summary>Create another ring: operations through a ring bypass the filter. The reactors have their rings by then.</summary>
    Rings,
    System,
    Users,
}

/// <summary>A system call that is not needed while serving.</summary>
/// <param name="Class">What an attacker could use it for.</param>
/// <param name="Name">The kernel's name of the call.</param>
/// <param name="X64">The number on x64.</param>
/// <param name="Arm64">The number on arm64; null if the call does not exist there.</param>
internal sealed record DeniedSystemCall(DeniedCallReason Class, string Name, uint X64, uint? Arm64)
{
    /// <summary>
    /// A deny list instead of an allow list: the runtime, libc and OpenSSL use different calls with each version, and an allow list that
    /// lacks one fails under load. (The systemd unit also has an allow list, which the distribution maintains.)
    /// </summary>
    public static readonly DeniedSystemCall[] All =
    [
        new(DeniedCallReason.Clock, "adjtimex", 159, 171),
        new(DeniedCallReason.Clock, "clock_adjtime", 305, 266),
        new(DeniedCallReason.Clock, "clock_settime", 227, 112),
        new(DeniedCallReason.Clock, "settimeofday", 164, 170),
        new(DeniedCallReason.Debug, "bpf", 321, 280),
        new(DeniedCallReason.Debug, "perf_event_open", 298, 241),
        new(DeniedCallReason.Debug, "pidfd_getfd", 438, 438),
        new(DeniedCallReason.Debug, "process_vm_readv", 310, 270),
        new(DeniedCallReason.Debug, "process_vm_writev", 311, 271),
        new(DeniedCallReason.Debug, "ptrace", 101, 117),
        new(DeniedCallReason.Debug, "lookup_dcookie", 212, 18),
        new(DeniedCallReason.Debug, "userfaultfd", 323, 282),
        new(DeniedCallReason.Debug, "kcmp", 312, 272),
        new(DeniedCallReason.Keys, "add_key", 248, 217),
        new(DeniedCallReason.Keys, "keyctl", 250, 219),
        new(DeniedCallReason.Keys, "request_key", 249, 218),
        new(DeniedCallReason.Modules, "create_module", 174, null),
        new(DeniedCallReason.Modules, "delete_module", 176, 106),
        new(DeniedCallReason.Modules, "finit_module", 313, 273),
        new(DeniedCallReason.Modules, "init_module", 175, 105),
        new(DeniedCallReason.Modules, "get_kernel_syms", 177, null),
        new(DeniedCallReason.Modules, "query_module", 178, null),
        new(DeniedCallReason.Mounts, "chroot", 161, 51),
        new(DeniedCallReason.Mounts, "fsconfig", 431, 431),
        new(DeniedCallReason.Mounts, "fsmount", 432, 432),
        new(DeniedCallReason.Mounts, "fsopen", 430, 430),
        new(DeniedCallReason.Mounts, "fspick", 433, 433),
        new(DeniedCallReason.Mounts, "mount", 165, 40),
        new(DeniedCallReason.Mounts, "mount_setattr", 442, 442),
        new(DeniedCallReason.Mounts, "move_mount", 429, 429),
        new(DeniedCallReason.Mounts, "open_tree", 428, 428),
        new(DeniedCallReason.Mounts, "pivot_root", 155, 41),
        new(DeniedCallReason.Mounts, "umount2", 166, 39),
        new(DeniedCallReason.Namespaces, "setns", 308, 268),
        new(DeniedCallReason.Namespaces, "unshare", 272, 97),
        new(DeniedCallReason.Ports, "ioperm", 173, null),
        new(DeniedCallReason.Ports, "iopl", 172, null),
        new(DeniedCallReason.Power, "kexec_file_load", 320, 294),
        new(DeniedCallReason.Power, "kexec_load", 246, 104),
        new(DeniedCallReason.Power, "reboot", 169, 142),
        new(DeniedCallReason.Power, "swapoff", 168, 225),
        new(DeniedCallReason.Power, "swapon", 167, 224),
        new(DeniedCallReason.System, "acct", 163, 89),
        new(DeniedCallReason.System, "nfsservctl", 180, 42),
        new(DeniedCallReason.System, "quotactl", 179, 60),
        new(DeniedCallReason.System, "quotactl_fd", 443, 443),
        new(DeniedCallReason.System, "sethostname", 170, 161),
        new(DeniedCallReason.System, "setdomainname", 171, 162),
        new(DeniedCallReason.System, "syslog", 103, 116),
        new(DeniedCallReason.System, "vhangup", 153, 58),
        new(DeniedCallReason.System, "_sysctl", 156, null),
        new(DeniedCallReason.System, "sysfs", 139, null),
        new(DeniedCallReason.System, "ustat", 136, null),
        new(DeniedCallReason.System, "uselib", 134, null),
        new(DeniedCallReason.System, "fanotify_init", 300, 262),
        new(DeniedCallReason.System, "open_by_handle_at", 304, 265),
        new(DeniedCallReason.System, "modify_ldt", 154, null),
        new(DeniedCallReason.System, "personality", 135, 92),
        new(DeniedCallReason.Users, "capset", 126, 91),
        new(DeniedCallReason.Users, "setfsgid", 123, 152),
        new(DeniedCallReason.Users, "setfsuid", 122, 151),
        new(DeniedCallReason.Users, "setgid", 106, 144),
        new(DeniedCallReason.Users, "setgroups", 116, 159),
        new(DeniedCallReason.Users, "setregid", 114, 143),
        new(DeniedCallReason.Users, "setresgid", 119, 149),
        new(DeniedCallReason.Users, "setresuid", 117, 147),
        new(DeniedCallReason.Users, "setreuid", 113, 145),
        new(DeniedCallReason.Users, "setuid", 105, 146),
        new(DeniedCallReason.Programs, "execve", 59, 221),
        new(DeniedCallReason.Programs, "execveat", 322, 281),
        new(DeniedCallReason.Programs, "fork", 57, null),
        new(DeniedCallReason.Programs, "vfork", 58, null),
        new(DeniedCallReason.Rings, "io_uring_setup", 425, 425),
    ];
}
