namespace Millrace.Server.Service;

/// <summary>What a system call would let an intruder do.</summary>
internal enum RefusedClass
{
    Clock,
    Debug,
    Keys,
    Modules,
    Mounts,
    Namespaces,
    Ports,
    Power,

    /// <summary>Start a program, or be two.</summary>
    Programs,

    /// <summary>Another ring: what is asked through a ring passes no filter. The reactors have theirs by then.</summary>
    Rings,
    System,
    Users,
}

/// <summary>A system call that a server has no use for once it serves.</summary>
/// <param name="Class">What it would be good for.</param>
/// <param name="Name">The kernel's name.</param>
/// <param name="X64">Its number there.</param>
/// <param name="Arm64">Its number there; null where there is no such call.</param>
internal sealed record RefusedCall(RefusedClass Class, string Name, uint X64, uint? Arm64)
{
    /// <summary>
    /// What nobody needs rather than what everybody needs: the runtime, libc and OpenSSL choose anew with each version what they call, and
    /// a list of the allowed that lacks one fails under load. (The unit has such a list too, systemd's, which its distribution keeps.)
    /// </summary>
    public static readonly RefusedCall[] All =
    [
        new(RefusedClass.Clock, "adjtimex", 159, 171),
        new(RefusedClass.Clock, "clock_adjtime", 305, 266),
        new(RefusedClass.Clock, "clock_settime", 227, 112),
        new(RefusedClass.Clock, "settimeofday", 164, 170),
        new(RefusedClass.Debug, "bpf", 321, 280),
        new(RefusedClass.Debug, "perf_event_open", 298, 241),
        new(RefusedClass.Debug, "pidfd_getfd", 438, 438),
        new(RefusedClass.Debug, "process_vm_readv", 310, 270),
        new(RefusedClass.Debug, "process_vm_writev", 311, 271),
        new(RefusedClass.Debug, "ptrace", 101, 117),
        new(RefusedClass.Debug, "lookup_dcookie", 212, 18),
        new(RefusedClass.Debug, "userfaultfd", 323, 282),
        new(RefusedClass.Debug, "kcmp", 312, 272),
        new(RefusedClass.Keys, "add_key", 248, 217),
        new(RefusedClass.Keys, "keyctl", 250, 219),
        new(RefusedClass.Keys, "request_key", 249, 218),
        new(RefusedClass.Modules, "create_module", 174, null),
        new(RefusedClass.Modules, "delete_module", 176, 106),
        new(RefusedClass.Modules, "finit_module", 313, 273),
        new(RefusedClass.Modules, "init_module", 175, 105),
        new(RefusedClass.Modules, "get_kernel_syms", 177, null),
        new(RefusedClass.Modules, "query_module", 178, null),
        new(RefusedClass.Mounts, "chroot", 161, 51),
        new(RefusedClass.Mounts, "fsconfig", 431, 431),
        new(RefusedClass.Mounts, "fsmount", 432, 432),
        new(RefusedClass.Mounts, "fsopen", 430, 430),
        new(RefusedClass.Mounts, "fspick", 433, 433),
        new(RefusedClass.Mounts, "mount", 165, 40),
        new(RefusedClass.Mounts, "mount_setattr", 442, 442),
        new(RefusedClass.Mounts, "move_mount", 429, 429),
        new(RefusedClass.Mounts, "open_tree", 428, 428),
        new(RefusedClass.Mounts, "pivot_root", 155, 41),
        new(RefusedClass.Mounts, "umount2", 166, 39),
        new(RefusedClass.Namespaces, "setns", 308, 268),
        new(RefusedClass.Namespaces, "unshare", 272, 97),
        new(RefusedClass.Ports, "ioperm", 173, null),
        new(RefusedClass.Ports, "iopl", 172, null),
        new(RefusedClass.Power, "kexec_file_load", 320, 294),
        new(RefusedClass.Power, "kexec_load", 246, 104),
        new(RefusedClass.Power, "reboot", 169, 142),
        new(RefusedClass.Power, "swapoff", 168, 225),
        new(RefusedClass.Power, "swapon", 167, 224),
        new(RefusedClass.System, "acct", 163, 89),
        new(RefusedClass.System, "nfsservctl", 180, 42),
        new(RefusedClass.System, "quotactl", 179, 60),
        new(RefusedClass.System, "quotactl_fd", 443, 443),
        new(RefusedClass.System, "sethostname", 170, 161),
        new(RefusedClass.System, "setdomainname", 171, 162),
        new(RefusedClass.System, "syslog", 103, 116),
        new(RefusedClass.System, "vhangup", 153, 58),
        new(RefusedClass.System, "_sysctl", 156, null),
        new(RefusedClass.System, "sysfs", 139, null),
        new(RefusedClass.System, "ustat", 136, null),
        new(RefusedClass.System, "uselib", 134, null),
        new(RefusedClass.System, "fanotify_init", 300, 262),
        new(RefusedClass.System, "open_by_handle_at", 304, 265),
        new(RefusedClass.System, "modify_ldt", 154, null),
        new(RefusedClass.System, "personality", 135, 92),
        new(RefusedClass.Users, "capset", 126, 91),
        new(RefusedClass.Users, "setfsgid", 123, 152),
        new(RefusedClass.Users, "setfsuid", 122, 151),
        new(RefusedClass.Users, "setgid", 106, 144),
        new(RefusedClass.Users, "setgroups", 116, 159),
        new(RefusedClass.Users, "setregid", 114, 143),
        new(RefusedClass.Users, "setresgid", 119, 149),
        new(RefusedClass.Users, "setresuid", 117, 147),
        new(RefusedClass.Users, "setreuid", 113, 145),
        new(RefusedClass.Users, "setuid", 105, 146),
        new(RefusedClass.Programs, "execve", 59, 221),
        new(RefusedClass.Programs, "execveat", 322, 281),
        new(RefusedClass.Programs, "fork", 57, null),
        new(RefusedClass.Programs, "vfork", 58, null),
        new(RefusedClass.Rings, "io_uring_setup", 425, 425),
    ];
}
