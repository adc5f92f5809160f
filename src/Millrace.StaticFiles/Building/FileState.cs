using Millrace.Interop.Files;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// A file at one moment, from one statx of one descriptor. Two equal states around a read say that it was not torn: where the
/// kernel has coarse timestamps (before 6.13, 4 ms) a rewrite of the same size within one tick escapes.
/// </summary>
internal readonly record struct FileState
{
    private const StatxMask Wanted = StatxMask.Type | StatxMask.Size | StatxMask.ModifiedAt | StatxMask.ChangedAt | StatxMask.Inode;

    private FileState(in Statx statx)
    {
        Type = statx.Type;
        Size = (long)Math.Min(statx.SizeBytes, long.MaxValue);
        ModifiedAtNs = statx.ModifiedAt.ToUnixNs();
        ChangedAtNs = statx.ChangedAt.ToUnixNs();
        Inode = statx.Inode;
        Device = ((ulong)statx.DeviceMajor << 32) | statx.DeviceMinor;
    }

    public FileType Type { get; }

    public long Size { get; }

    public long ModifiedAtNs { get; }

    public long ChangedAtNs { get; }

    public ulong Inode { get; }

    public ulong Device { get; }

    /// <summary>0 or -errno.</summary>
    public static int Read(int fd, out FileState state)
    {
        int result = FileCalls.StatDescriptor(fd, Wanted, out Statx statx);
        state = result < 0 ? default : new FileState(statx);
        return result;
    }

    /// <summary>Whether both are the same file, whatever became of its content.</summary>
    public bool IsSameFile(in FileState other) => Inode == other.Inode && Device == other.Device;
}
