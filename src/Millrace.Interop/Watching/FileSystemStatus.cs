using System.Runtime.InteropServices;

namespace Millrace.Interop.Watching;

/// <summary><c>struct statfs</c> on 64-bit machines, as far as it is used.</summary>
[StructLayout(LayoutKind.Explicit, Size = 120)]
internal struct FileSystemStatus
{
    [FieldOffset(0)] public FileSystemMagic Magic;
}
