namespace Millrace.Interop.Files;

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
