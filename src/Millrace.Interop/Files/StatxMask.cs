namespace Millrace.Interop.Files;

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
