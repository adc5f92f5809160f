using System.Runtime.InteropServices;

namespace Millrace.Interop.Files;

/// <summary><c>struct statx</c>: a file's metadata, 256 bytes on every architecture.</summary>
[StructLayout(LayoutKind.Explicit, Size = 256)]
internal struct Statx
{
    [FieldOffset(0x00)] public StatxMask Mask;
    [FieldOffset(0x10)] public uint LinkCount;
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
