using System.Runtime.InteropServices;

namespace Millrace.Interop.Files;

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
