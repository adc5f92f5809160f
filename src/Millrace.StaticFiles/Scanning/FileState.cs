using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// The state of a file at one moment, from one statx. Equal states before and after a read mean that it was not torn, except that with
/// coarse kernel timestamps (before 6.13, 4 ms) a rewrite of the same size within one tick goes unseen, see <see cref="IsSettledAt"/>.
/// </summary>
internal readonly record struct FileState
{
    /// <summary>
    /// Longer than any clock tick of a kernel or file server (10 ms at HZ=100), and than the error of an NTP-synchronized clock.
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
        // The kernel's own dev_t: 12 bits of major and 20 of minor. Packed, because every file has a state.
        Device = (statx.DeviceMajor << 20) | statx.DeviceMinor;
    }

    public long Size { get; init; }

    public long ModifiedAtNs { get; init; }

    public long ChangedAtNs { get; }

    public ulong Inode { get; }

    public uint Device { get; }

    public FileType Type { get; }

    /// <summary>The state of an open file. 0 or -errno.</summary>
    public static int Read(int fd, out FileState state) =>
        Take(FileCalls.StatDescriptor(fd, Wanted, out Statx statx), statx, out state);

    /// <summary>The state of a file that was opened for this alone; closes it. 0 or -errno, also that of the open.</summary>
    public static int ReadAndClose(int fd, out FileState state)
    {
        if (fd < 0)
        {
            state = default;
            return fd;
        }

        int result = Read(fd, out state);
        _ = FileCalls.Close(fd);
        return result;
    }

    /// <summary>The state of a directory entry, of the symlink itself if it is one, and the file's link count. 0 or -errno.</summary>
    public static int ReadEntry(int directoryFd, ReadOnlySpan<byte> nameZ, out FileState state, out uint linkCount)
    {
        int result = FileCalls.StatEntry(directoryFd, nameZ, Wanted | StatxMask.LinkCount, out Statx statx);
        linkCount = statx.LinkCount;
        return Take(result, statx, out state);
    }

    /// <summary>The state of what a path, relative to the working directory, leads to. 0 or -errno.</summary>
    public static int ReadPath(ReadOnlySpan<byte> pathZ, out FileState state) =>
        Take(FileCalls.StatPath(FileCalls.WorkingDirectory, pathZ, Wanted, out Statx statx), statx, out state);

    /// <summary>Whether both are the same file, whatever its content.</summary>
    public bool IsSameFile(in FileState other) => Inode == other.Inode && Device == other.Device;

    /// <summary>
    /// Whether any later change shows in the file's times. False if it changed so shortly before the check that another change could have
    /// left the same time.
    /// </summary>
    /// <param name="checkedAtNs">A time before the content was read.</param>
    public bool IsSettledAt(long checkedAtNs) => SettlesAfter(checkedAtNs) < 0;

    /// <summary>The nanoseconds from a time on until it is settled.</summary>
    public long SettlesAfter(long checkedAtNs)
    {
        // A modification time can be set to any value, also one that is always in the future; the change time is the kernel's own.
        long modifiedAtNs = ModifiedAtNs > checkedAtNs ? long.MinValue : ModifiedAtNs;
        return Math.Max(modifiedAtNs, ChangedAtNs) + SettlingNs - checkedAtNs;
    }

    private static int Take(int result, in Statx statx, out FileState state)
    {
        state = result < 0 ? default : new FileState(statx);
        return result;
    }
}

/// <summary>Opens files by name, and reads them from their start, restarting after EINTR.</summary>
internal static unsafe class FileContent
{
    /// <summary>Opens what a path, relative to the working directory, leads to. A descriptor or -errno.</summary>
    public static int Open(ReadOnlySpan<byte> pathZ, ulong flags) =>
        FileCalls.OpenAt2(FileCalls.WorkingDirectory, pathZ, new OpenHow { Flags = flags | OpenFlags.CloseOnExec });

    /// <summary>The number of bytes read, less than requested if the file ends before; or -errno.</summary>
    public static int Read(int fd, Span<byte> buffer, long offset = 0)
    {
        int done = 0;
        while (done < buffer.Length)
        {
            nint result;
            fixed (byte* bufferPtr = buffer[done..])
            {
                result = FileCalls.PositionalRead(fd, bufferPtr, (nuint)(buffer.Length - done), offset + done);
            }

            if (result == 0)
            {
                break;
            }

            if (result < 0 && result != -Errno.EINTR)
            {
                return (int)result;
            }

            done += (int)Math.Max(result, 0);
        }

        return done;
    }

    /// <summary>Reads a piece of a file; false if it is not, or no longer, in the expected state.</summary>
    public static bool TryReadUnchanged(int fd, in FileState expected, Span<byte> piece, long offset) =>
        Read(fd, piece, offset) == piece.Length && FileState.Read(fd, out FileState after) == 0 && after == expected;

    /// <summary>Reads a small file whole, again while its states before and after differ: a mix of two versions could parse.</summary>
    public static FileReadResult ReadWhole(int fd, int bytesMax, int attemptsMax)
    {
        FileReadResult file = default;
        for (int attempt = 0; attempt < attemptsMax && file.Outcome is FileReadOutcome.ChangedDuringRead; attempt++)
        {
            file = new FileReadResult { CheckedAtNs = WallClock.NowNs };
            int error = FileState.Read(fd, out FileState state);
            file = file with { State = state, Error = -error };
            if (error < 0 || state.Type != FileType.Regular || state.Size > bytesMax)
            {
                FileReadOutcome refusal = error < 0 ? FileReadOutcome.Failed
                    : state.Type != FileType.Regular ? FileReadOutcome.NotRegular
                    : FileReadOutcome.TooLarge;
                return file with { Outcome = refusal };
            }

            byte[] bytes = new byte[state.Size];
            int read = Read(fd, bytes);
            if (read < 0)
            {
                return file with { Outcome = FileReadOutcome.Failed, Error = -read };
            }

            bool isWhole = read == state.Size && FileState.Read(fd, out FileState after) == 0 && after == state;
            file = isWhole ? file with { Outcome = FileReadOutcome.Read, Bytes = bytes } : file;
        }

        return file;
    }
}

/// <summary>A small file as it was read, with its state and a time before it was read.</summary>
internal readonly record struct FileReadResult(FileReadOutcome Outcome, byte[] Bytes, FileState State, long CheckedAtNs, int Error);

internal enum FileReadOutcome
{
    ChangedDuringRead,
    Read,
    NotRegular,
    TooLarge,

    /// <summary>With the errno in <see cref="FileReadResult.Error"/>.</summary>
    Failed,
}

/// <summary>The clock that file times are compared with.</summary>
internal static class WallClock
{
    /// <summary>Nanoseconds since 1970, in steps of 100.</summary>
    public static long NowNs => (DateTime.UtcNow - DateTime.UnixEpoch).Ticks * 100;
}
