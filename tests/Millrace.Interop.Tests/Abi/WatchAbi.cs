namespace Millrace.Interop.Tests.Abi;

/// <summary>sys/inotify.h, poll.h, sys/vfs.h and linux/magic.h.</summary>
internal static class WatchAbi
{
    public static AbiEntry[] Structures =>
    [
        ("InotifyEvent", "sizeof(struct inotify_event)", 16),
        ("InotifyEvent.Watch", "offsetof(struct inotify_event, wd)", 0),
        ("InotifyEvent.Mask", "offsetof(struct inotify_event, mask)", 4),
        ("InotifyEvent.Cookie", "offsetof(struct inotify_event, cookie)", 8),
        ("InotifyEvent.NameBytes", "offsetof(struct inotify_event, len)", 12),
        ("InotifyEvents.RecordBytesMax", "sizeof(struct inotify_event) + NAME_MAX + 1", 272),
        ("PollRequest", "sizeof(struct pollfd)", 8),
        ("PollRequest.Fd", "offsetof(struct pollfd, fd)", 0),
        ("PollRequest.Events", "offsetof(struct pollfd, events)", 4),
        ("PollRequest.ReturnedEvents", "offsetof(struct pollfd, revents)", 6),
        ("FileSystemStatus", "sizeof(struct statfs)", 120),
        ("FileSystemStatus.Magic", "offsetof(struct statfs, f_type)", 0),
    ];

    public static AbiEntry[] Constants =>
    [
        ("PollRequest.Readable", "POLLIN", 1),
        ("WatchCalls.CloseOnExec", "IN_CLOEXEC", 0x80000),
        ("WatchCalls.NonBlocking", "IN_NONBLOCK", 0x800),
        ("WatchMask.Modify", "IN_MODIFY", 0x2),
        ("WatchMask.Attributes", "IN_ATTRIB", 0x4),
        ("WatchMask.CloseWrite", "IN_CLOSE_WRITE", 0x8),
        ("WatchMask.MovedFrom", "IN_MOVED_FROM", 0x40),
        ("WatchMask.MovedTo", "IN_MOVED_TO", 0x80),
        ("WatchMask.Create", "IN_CREATE", 0x100),
        ("WatchMask.Delete", "IN_DELETE", 0x200),
        ("WatchMask.DeleteSelf", "IN_DELETE_SELF", 0x400),
        ("WatchMask.MoveSelf", "IN_MOVE_SELF", 0x800),
        ("WatchMask.Unmount", "IN_UNMOUNT", 0x2000),
        ("WatchMask.QueueOverflow", "IN_Q_OVERFLOW", 0x4000),
        ("WatchMask.Ignored", "IN_IGNORED", 0x8000),
        ("WatchMask.OnlyDirectory", "IN_ONLYDIR", 0x1000000),
        ("WatchMask.ExcludeUnlinked", "IN_EXCL_UNLINK", 0x4000000),
        ("WatchMask.Add", "IN_MASK_ADD", 0x20000000),
        ("WatchMask.IsDirectory", "IN_ISDIR", 0x40000000),
    ];

    public static AbiEntry[] FileSystems =>
    [
        ("FileSystemMagic.Nfs", "NFS_SUPER_MAGIC", 0x6969),
        ("FileSystemMagic.Smb", "SMB_SUPER_MAGIC", 0x517b),
        ("FileSystemMagic.Smb2", "SMB2_SUPER_MAGIC", 0xfe534d42, "5.17"),
        ("FileSystemMagic.Cifs", "CIFS_SUPER_MAGIC", 0xff534d42, "5.17"),
        ("FileSystemMagic.Ncp", "NCP_SUPER_MAGIC", 0x564c),
        ("FileSystemMagic.Afs", "AFS_SUPER_MAGIC", 0x5346414f),
        ("FileSystemMagic.KernelAfs", "AFS_FS_MAGIC", 0x6b414653),
        ("FileSystemMagic.Coda", "CODA_SUPER_MAGIC", 0x73757245),
        ("FileSystemMagic.Ceph", "CEPH_SUPER_MAGIC", 0x00c36400, "5.17"),
        ("FileSystemMagic.Fuse", "FUSE_SUPER_MAGIC", 0x65735546, "5.17"),
        ("FileSystemMagic.Plan9", "V9FS_MAGIC", 0x01021997),
        ("FileSystemMagic.HostFs", "HOSTFS_SUPER_MAGIC", 0x00c0ffee),
        ("FileSystemMagic.Gfs2", "GFS2_MAGIC", 0x01161970),
        ("FileSystemMagic.Ocfs2", "OCFS2_SUPER_MAGIC", 0x7461636f),
        ("FileSystemMagic.Proc", "PROC_SUPER_MAGIC", 0x9fa0),
        ("FileSystemMagic.Sysfs", "SYSFS_MAGIC", 0x62656572),
        ("FileSystemMagic.Cgroup", "CGROUP_SUPER_MAGIC", 0x0027e0eb),
        ("FileSystemMagic.Cgroup2", "CGROUP2_SUPER_MAGIC", 0x63677270),
        ("FileSystemMagic.DebugFs", "DEBUGFS_MAGIC", 0x64626720),
        ("FileSystemMagic.TraceFs", "TRACEFS_MAGIC", 0x74726163),
        ("FileSystemMagic.SecurityFs", "SECURITYFS_MAGIC", 0x73636673),
        ("FileSystemMagic.EfiVarFs", "EFIVARFS_MAGIC", 0xde5e81e4),
        ("FileSystemMagic.ResCtrl", "RDTGROUP_SUPER_MAGIC", 0x07655821),
        .. Foreign("ConfigFs", 0x62656570),
        .. Foreign("Lustre", 0x0bd00bd0),
        .. Foreign("Gpfs", 0x47504653),
        .. Foreign("BeeGfs", 0x19830326),
        .. Foreign("PanFs", 0xaad7aaea),
        .. Foreign("StorNext", 0xbeefdead),
        .. Foreign("OrangeFs", 0x20030528),
        .. Foreign("VirtualBoxShared", 0x786f4256),
        .. Foreign("VMwareShared", 0xbacbacbc),
        .. Foreign("ParallelsShared", 0x7c7c6673),
    ];

    /// <summary>No header names it: the number is what its own sources, and coreutils' stat, call it.</summary>
    private static AbiEntry[] Foreign(string name, long magic) => [($"FileSystemMagic.{name}", $"{magic}LL", magic)];
}
