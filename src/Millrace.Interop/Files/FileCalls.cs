using System.Buffers.Binary;
using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Interop.Sockets;

namespace Millrace.Interop.Files;

/// <summary>
/// The system calls on files. Each returns the kernel's result or -errno; none throws or retries. Paths end with a zero byte.
/// </summary>
/// <remarks>
/// errno is read after the call: both CoreCLR and NativeAOT preserve it if a thread that returns from native code waits for a collection,
/// so SetLastError marshalling (a thread-local write per call) is not needed.
/// </remarks>
internal static unsafe partial class FileCalls
{
    /// <summary><c>AT_FDCWD</c>: a path is relative to the process's working directory.</summary>
    public const int WorkingDirectory = -100;

    private const int AtSymlinkNoFollow = 0x100;
    private const int AtNoAutomount = 0x800;
    private const int AtEmptyPath = 0x1000;
    private const int RwfNoWait = 0x8;
    private const int RlimitFileSize = 1;
    private const int RlimitNoFile = 7;

    /// <summary><c>openat2</c> has the same number on all architectures.</summary>
    private const nint SysOpenAt2 = 437;
    private static readonly nint SysGetDents64 = GetDents64NumberOn(RuntimeInformation.ProcessArchitecture);

    internal static nint GetDents64NumberOn(Architecture architecture) => SystemCall.On<nint>(architecture, x64: 217, arm64: 61);

    /// <summary>
    /// <c>openat2(2)</c>: a descriptor. EAGAIN under <see cref="ResolveFlags.Beneath"/> means a rename raced with a "..".
    /// </summary>
    public static int OpenAt2(int directoryFd, ReadOnlySpan<byte> pathZ, in OpenHow how)
    {
        Debug.Assert(!pathZ.IsEmpty && pathZ[^1] == 0, "a path ends with a zero byte");
        fixed (byte* path = pathZ)
        fixed (OpenHow* howPtr = &how)
        {
            return SystemCall.Invoke(SysOpenAt2, directoryFd, (nint)path, (nint)howPtr, sizeof(OpenHow));
        }
    }

    /// <summary><c>statx(2)</c> on an open descriptor (AT_EMPTY_PATH): 0.</summary>
    public static int StatDescriptor(int fd, StatxMask mask, out Statx statx) =>
        SystemCall.Result(LibcStatx(fd, "\0"u8, AtEmptyPath, mask, out statx));

    /// <summary>
    /// <c>statx(2)</c> of a directory's entry, of a symlink itself (AT_SYMLINK_NOFOLLOW): 0. One call instead of three (open with O_PATH,
    /// stat, close).
    /// </summary>
    public static int StatEntry(int directoryFd, ReadOnlySpan<byte> nameZ, StatxMask mask, out Statx statx) =>
        StatPath(directoryFd, nameZ, AtSymlinkNoFollow | AtNoAutomount, mask, out statx);

    /// <summary><c>statx(2)</c> of a path, following symlinks: 0.</summary>
    public static int StatPath(int directoryFd, ReadOnlySpan<byte> pathZ, StatxMask mask, out Statx statx) =>
        StatPath(directoryFd, pathZ, 0, mask, out statx);

    /// <summary><c>pread(2)</c>: the bytes read, 0 at the end of the file.</summary>
    public static nint PositionalRead(int fd, byte* buffer, nuint bufferBytes, long offset) =>
        SystemCall.Result(pread(fd, buffer, bufferBytes, offset));

    /// <summary>
    /// <c>preadv2(2)</c> with RWF_NOWAIT: the bytes in the page cache, which may be fewer than remain in the file; -EAGAIN if the disk must
    /// be read.
    /// </summary>
    public static nint PositionalReadCached(int fd, byte* buffer, nuint bufferBytes, long offset)
    {
        var part = new IoVector { Address = buffer, Bytes = bufferBytes };
        return SystemCall.Result(preadv2(fd, &part, 1, offset, RwfNoWait));
    }

    /// <summary><c>getdents64(2)</c>: the bytes of records written into the buffer, 0 after the last.</summary>
    public static int ReadDirectory(int directoryFd, Span<byte> records)
    {
        fixed (byte* recordsPtr = records)
        {
            return SystemCall.Invoke(SysGetDents64, directoryFd, (nint)recordsPtr, records.Length);
        }
    }

    /// <summary><c>write(2)</c>: the bytes written, which may be fewer than given; on a datagram socket, one datagram.</summary>
    public static nint Write(int fd, ReadOnlySpan<byte> bytes) => SystemCall.Result(write(fd, bytes, (nuint)bytes.Length));

    /// <summary>
    /// <c>close(2)</c>: 0. The descriptor is closed whatever is returned; a retry could close another one with the same number.
    /// </summary>
    public static int Close(int fd) => SocketCalls.Close(fd);

    /// <summary><c>futimens(3)</c>: sets the modification time, in nanoseconds, and keeps the access time: 0.</summary>
    public static int SetModified(int fd, in StatxTimestamp modifiedAt)
    {
        const nint Omit = (1 << 30) - 2;
        nint* readAndModified = stackalloc nint[] { 0, Omit, (nint)modifiedAt.Seconds, (nint)modifiedAt.Nanoseconds };
        return SystemCall.Result(futimens(fd, readAndModified));
    }

    /// <summary><c>fchown(2)</c>: gives an open file, whatever its present name, to a user and a group: 0.</summary>
    public static int SetOwner(int fd, uint user, uint group) => SystemCall.Result(fchown(fd, user, group));

    /// <summary><c>getrlimit(2)</c> of RLIMIT_NOFILE: 0.</summary>
    public static int GetDescriptorLimit(out ResourceLimit limit) => GetLimit(RlimitNoFile, out limit);

    /// <summary><c>prlimit(2)</c> of this process's RLIMIT_NOFILE: 0. Sets it and reads what it was, in one step.</summary>
    public static int ExchangeDescriptorLimit(in ResourceLimit limit, out ResourceLimit before) =>
        SystemCall.Result(prlimit(process: 0, RlimitNoFile, limit, out before));

    /// <summary><c>getrlimit(2)</c> of RLIMIT_FSIZE, the size beyond which growing a file is a fatal signal: 0.</summary>
    public static int GetFileSizeLimit(out ResourceLimit limit) => GetLimit(RlimitFileSize, out limit);

    private static int GetLimit(int resource, out ResourceLimit limit) => SystemCall.Result(getrlimit(resource, out limit));

    /// <summary><c>faccessat2(2)</c> with effective rights: 0 if files may be created in a directory.</summary>
    public static int MayMakeIn(ReadOnlySpan<byte> directoryZ)
    {
        const int WriteAndSearch = 0b011;
        const int EffectiveRights = 0x200;
        const nint Access2 = 439;
        Debug.Assert(!directoryZ.IsEmpty && directoryZ[^1] == 0, "a path ends with a zero byte");
        fixed (byte* path = directoryZ)
        {
            return SystemCall.Invoke(Access2, WorkingDirectory, (nint)path, WriteAndSearch, EffectiveRights);
        }
    }

    private static int StatPath(int directoryFd, ReadOnlySpan<byte> pathZ, int flags, StatxMask mask, out Statx statx)
    {
        Debug.Assert(!pathZ.IsEmpty && pathZ[^1] == 0, "a path ends with a zero byte");
        return SystemCall.Result(LibcStatx(directoryFd, pathZ, flags, mask, out statx));
    }

    [LibraryImport("libc", EntryPoint = "statx")]
    private static partial int LibcStatx(int directoryFd, ReadOnlySpan<byte> path, int flags, StatxMask mask, out Statx statx);

    [LibraryImport("libc")]
    private static partial nint pread(int fd, byte* buffer, nuint bufferBytes, long offset);

    [LibraryImport("libc")]
    private static partial nint preadv2(int fd, IoVector* parts, int partCount, long offset, int flags);

    [LibraryImport("libc")]
    private static partial int futimens(int fd, nint* times);

    [LibraryImport("libc")]
    private static partial int fchown(int fd, uint user, uint group);

    [LibraryImport("libc")]
    private static partial nint write(int fd, ReadOnlySpan<byte> bytes, nuint count);

    [LibraryImport("libc")]
    private static partial int getrlimit(int resource, out ResourceLimit limit);

    [LibraryImport("libc")]
    private static partial int prlimit(int process, int resource, in ResourceLimit limit, out ResourceLimit before);
}

/// <summary><c>struct rlimit</c> on 64-bit machines.</summary>
[StructLayout(LayoutKind.Sequential)]
internal record struct ResourceLimit
{
    public ulong Soft;
    public ulong Hard;
}

/// <summary>The <c>O_*</c> flags of <c>openat2(2)</c>. Not an enum: arm64 numbers two of them differently.</summary>
internal static class OpenFlags
{
    public const ulong ReadOnly = 0;
    public const ulong WriteOnly = 0x1;
    public const ulong Create = 0x40;

    /// <summary><c>O_EXCL</c>: creates a file, and fails if the name exists, even as a dangling symlink.</summary>
    public const ulong Exclusive = 0x80;

    public const ulong NoControllingTerminal = 0x100;

    /// <summary><c>O_APPEND</c>: each write goes to the present end of the file.</summary>
    public const ulong Append = 0x400;

    public const ulong NonBlock = 0x800;
    public const ulong CloseOnExec = 0x80000;

    /// <summary>
    /// <c>O_PATH</c>: refers to a file without opening it, so that no device driver runs and no permission on it is needed.
    /// </summary>
    public const ulong Path = 0x200000;

    public static readonly ulong Directory = DirectoryOn(RuntimeInformation.ProcessArchitecture);
    public static readonly ulong NoFollow = NoFollowOn(RuntimeInformation.ProcessArchitecture);

    internal static ulong DirectoryOn(Architecture architecture) => SystemCall.On<ulong>(architecture, x64: 0x10000, arm64: 0x4000);

    internal static ulong NoFollowOn(Architecture architecture) => SystemCall.On<ulong>(architecture, x64: 0x20000, arm64: 0x8000);
}

/// <summary><c>struct open_how</c>: how <c>openat2(2)</c> opens a path. Unknown bits fail with EINVAL.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct OpenHow
{
    public ulong Flags;
    public ulong Mode;
    public ResolveFlags Resolve;
}

/// <summary>The <c>RESOLVE_*</c> flags of <c>openat2(2)</c>: where a path may lead.</summary>
[Flags]
internal enum ResolveFlags : ulong
{
    None = 0,
    NoMountCrossing = 0x01,
    NoMagicLinks = 0x02,
    NoSymlinks = 0x04,
    Beneath = 0x08,
    InRoot = 0x10,
    Cached = 0x20,
}

/// <summary><c>struct statx</c>: a file's metadata, 256 bytes on every architecture.</summary>
[StructLayout(LayoutKind.Explicit, Size = 256)]
internal struct Statx
{
    [FieldOffset(0x00)] public StatxMask Mask;
    [FieldOffset(0x10)] public uint LinkCount;
    [FieldOffset(0x14)] public uint UserId;
    [FieldOffset(0x1c)] public ushort Mode;
    [FieldOffset(0x20)] public ulong Inode;
    [FieldOffset(0x28)] public ulong SizeBytes;
    [FieldOffset(0x60)] public StatxTimestamp ChangedAt;
    [FieldOffset(0x70)] public StatxTimestamp ModifiedAt;
    [FieldOffset(0x88)] public uint DeviceMajor;
    [FieldOffset(0x8c)] public uint DeviceMinor;

    /// <summary>The <c>S_IFMT</c> part of the mode.</summary>
    public readonly FileType Type => (FileType)(Mode & (ushort)FileType.Mask);
}

/// <summary>The <c>S_IF*</c> types of a file, the upper four bits of its mode. Values, not flags.</summary>
internal enum FileType : ushort
{
    None = 0,
    Fifo = 0x1000,
    CharacterDevice = 0x2000,
    Directory = 0x4000,
    BlockDevice = 0x6000,
    Regular = 0x8000,
    Symlink = 0xa000,
    Socket = 0xc000,
    Mask = 0xf000,
}

/// <summary>The <c>STATX_*</c> bits: which fields are wanted, and which were filled in.</summary>
[Flags]
internal enum StatxMask : uint
{
    None = 0,
    Type = 0x001,
    LinkCount = 0x004,
    UserId = 0x008,
    ModifiedAt = 0x040,
    ChangedAt = 0x080,
    Inode = 0x100,
    Size = 0x200,
}

/// <summary><c>struct statx_timestamp</c>: seconds since 1970, negative before, and nanoseconds forward from there.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct StatxTimestamp
{
    private const long NsPerSecond = 1_000_000_000;

    public long Seconds;
    public uint Nanoseconds;
    private readonly int _reserved;

    /// <summary>Nanoseconds since 1970. Saturates: 64 bits of them end in 2262, and the kernel's seconds do not.</summary>
    public readonly long ToUnixNs()
    {
        Int128 ns = ((Int128)Seconds * NsPerSecond) + Nanoseconds;
        return (long)Int128.Clamp(ns, long.MinValue, long.MaxValue);
    }
}

/// <summary>
/// Enumerates the records of one <c>getdents64(2)</c> call (<c>struct linux_dirent64</c>), skipping "." and "..". Names refer to the
/// buffer.
/// </summary>
internal ref struct DirectoryEntries(ReadOnlySpan<byte> records)
{
    /// <summary>d_ino (8), d_off (8), d_reclen (2), d_type (1); the name follows, ended by a zero.</summary>
    private const int RecordLengthOffset = 16;
    private const int NameOffset = 19;

    private ReadOnlySpan<byte> _remaining = records;

    /// <summary>The name of the entry, without its terminating zero. Any bytes but zero and '/'.</summary>
    public readonly ReadOnlySpan<byte> Name => NameZ[..^1];

    /// <summary>The name with its terminating zero, as calls take it.</summary>
    public ReadOnlySpan<byte> NameZ { get; private set; }

    public bool MoveNext()
    {
        while (!_remaining.IsEmpty)
        {
            // In native byte order; x64 and arm64 Linux are little-endian.
            int recordBytes = BinaryPrimitives.ReadUInt16LittleEndian(_remaining[RecordLengthOffset..]);
            ReadOnlySpan<byte> name = _remaining[NameOffset..recordBytes];
            NameZ = name[..(name.IndexOf((byte)0) + 1)];
            _remaining = _remaining[recordBytes..];
            if (!Name.SequenceEqual("."u8) && !Name.SequenceEqual(".."u8))
            {
                return true;
            }
        }

        return false;
    }
}
