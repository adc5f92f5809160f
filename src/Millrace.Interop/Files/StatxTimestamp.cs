using System.Runtime.InteropServices;

namespace Millrace.Interop.Files;

/// <summary><c>struct statx_timestamp</c>: seconds since 1970, negative before it, and nanoseconds forward from there.</summary>
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
