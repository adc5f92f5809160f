namespace Millrace.Interop.Watching;

/// <summary>
/// What <c>statfs(2)</c> calls a kind of file system (linux/magic.h). Only those whose content changes without this kernel being asked,
/// so that inotify stays silent: shared over a network or between machines, kept by another process, or made up by the kernel.
/// </summary>
internal enum FileSystemMagic : long
{
    Nfs = 0x6969,
    Smb = 0x517b,
    Smb2 = 0xfe534d42,
    Cifs = 0xff534d42,
    Ncp = 0x564c,
    Afs = 0x5346414f,
    KernelAfs = 0x6b414653,
    Coda = 0x73757245,
    Ceph = 0x00c36400,

    /// <summary>Also virtiofs, sshfs, rclone, GlusterFS, and the shared folders of Docker Desktop.</summary>
    Fuse = 0x65735546,

    /// <summary>9p: shared folders of QEMU, gVisor and WSL.</summary>
    Plan9 = 0x01021997,
    HostFs = 0x00c0ffee,

    /// <summary>Cluster file systems: each node's kernel knows only of its own writes.</summary>
    Gfs2 = 0x01161970,
    Ocfs2 = 0x7461636f,

    /// <summary>Out of the kernel's tree, or gone from it: no header names these.</summary>
    Lustre = 0x0bd00bd0,
    Gpfs = 0x47504653,
    BeeGfs = 0x19830326,
    PanFs = 0xaad7aaea,
    StorNext = 0xbeefdead,
    OrangeFs = 0x20030528,
    VirtualBoxShared = 0x786f4256,
    VMwareShared = 0xbacbacbc,
    ParallelsShared = 0x7c7c6673,

    /// <summary>The kernel's own answers, made when they are read.</summary>
    Proc = 0x9fa0,
    Sysfs = 0x62656572,
}
