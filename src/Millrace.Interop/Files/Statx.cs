using System.Runtime.InteropServices;

namespace Millrace.Interop.Files;

/// <summary><c>struct statx</c>: what the kernel knows of a file, 256 bytes on every architecture.</summary>
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
