using Millrace.Interop.Files;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// A file at one moment, from one statx. Two equal states around a read say that it was not torn: where the kernel has coarse
/// timestamps (before 6.13, 4 ms) a rewrite of the same size within one tick escapes, see <see cref="IsSettledAt"/>.
/// </summary>
internal readonly record struct FileState
{
    /// <summary>
    /// Longer than any tick of a kernel's or a file server's clock (10 ms at HZ=100), and than a clock that is set by NTP is off.
    /// </summary>
    private const long SettlingNs = 50_000_000;

    private const StatxMask Wanted = StatxMask.Type | StatxMask.Size | StatxMask.ModifiedAt | StatxMask.ChangedAt | StatxMask.Inode;

    private FileState(in Statx statx)
    {
        Type = statx.Type;
        Size = (long)Math.Min(statx.SizeBytes, long.MaxValue);
        ModifiedAtNs = statx.ModifiedAt.ToUnixNs();
        ChangedAtNs = statx.ChangedAt.ToUnixNs();
        Inode = statx.Inode;
        // The kernel's own dev_t: 12 bits of major and 20 of minor. One state per file is worth the 4 bytes.
        Device = (statx.DeviceMajor << 20) | statx.DeviceMinor;
    }

    public long Size { get; init; }

    public long ModifiedAtNs { get; init; }

    public long ChangedAtNs { get; }

    public ulong Inode { get; }

    public uint Device { get; }

    public FileType Type { get; }

    /// <summary>The state of what a descriptor is open on. 0 or -errno.</summary>
    public static int Read(int fd, out FileState state) =>
        Take(FileCalls.StatDescriptor(fd, Wanted, out Statx statx), statx, out state);

    /// <summary>The state of an entry of a directory, of a symlink its own; and how many names the file has. 0 or -errno.</summary>
    public static int ReadEntry(int directoryFd, ReadOnlySpan<byte> nameZ, out FileState state, out uint linkCount)
    {
        int result = FileCalls.StatEntry(directoryFd, nameZ, Wanted | StatxMask.LinkCount, out Statx statx);
        linkCount = statx.LinkCount;
        return Take(result, statx, out state);
    }

    /// <summary>The state of what a path of the machine leads to. 0 or -errno.</summary>
    public static int ReadPath(ReadOnlySpan<byte> pathZ, out FileState state) =>
        Take(FileCalls.StatPath(FileCalls.WorkingDirectory, pathZ, Wanted, out Statx statx), statx, out state);

    /// <summary>Whether both are the same file, whatever became of its content.</summary>
    public bool IsSameFile(in FileState other) => Inode == other.Inode && Device == other.Device;

    /// <summary>
    /// Whether any later change shows in its times: not if it was changed so shortly before a look that another change could have left
    /// the same time.
    /// </summary>
    /// <param name="lookedAtNs">A time before the content was read.</param>
    public bool IsSettledAt(long lookedAtNs)
    {
        // A time of modification can be set to anything, also to one that never passes; the other is the kernel's own.
        long modifiedAtNs = ModifiedAtNs > lookedAtNs ? long.MinValue : ModifiedAtNs;
        return lookedAtNs - SettlingNs > Math.Max(modifiedAtNs, ChangedAtNs);
    }

    private static int Take(int result, in Statx statx, out FileState state)
    {
        state = result < 0 ? default : new FileState(statx);
        return result;
    }
}
