using System.Runtime.InteropServices;

namespace Millrace.Interop.Files;

/// <summary><c>struct open_how</c>: how <c>openat2(2)</c> opens a path. Unknown bits are EINVAL, not ignored.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct OpenHow
{
    public ulong Flags;
    public ulong Mode;
    public ResolveFlags Resolve;
}
