using System.Runtime.InteropServices;

namespace Millrace.Interop.Sockets;

/// <summary><c>struct iovec</c>: one part of a scattered buffer.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct IoVector
{
    public byte* Address;
    public nuint Bytes;
}

/// <summary><c>struct msghdr</c>, 56 bytes on 64-bit Linux.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct MessageHeader
{
    public void* Name;
    public uint NameBytes;
    public IoVector* Vectors;
    public nuint VectorCount;
    public void* Control;
    public nuint ControlBytes;
    public int Flags;
}
