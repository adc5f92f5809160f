using System.Runtime.InteropServices;

namespace Millrace.Tls.OpenSsl;

/// <summary><c>OSSL_PARAM</c>: a named argument; a list ends with an all-zero one.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct OsslParameter
{
    public const uint Utf8String = 4;

    public byte* Key;
    public uint DataType;
    public void* Data;
    public nuint DataBytes;
    public nuint ReturnBytes;
}
