using System.Runtime.InteropServices;

namespace Millrace.Interop.Files;

/// <summary><c>struct rlimit</c> on 64-bit machines.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct ResourceLimit
{
    /// <summary><c>RLIM_INFINITY</c>.</summary>
    public const ulong Infinity = ulong.MaxValue;

    public ulong Soft;
    public ulong Hard;
}
