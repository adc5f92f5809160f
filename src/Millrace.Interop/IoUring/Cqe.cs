using System.Runtime.InteropServices;

namespace Millrace.Interop.IoUring;

/// <summary>A completion queue entry: <c>struct io_uring_cqe</c>, 16 bytes.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct Cqe
{
    public ulong UserData;
    public int Result;
    public CqeFlags Flags;

    /// <summary>Which provided buffer holds the bytes; meaningful with <see cref="CqeFlags.Buffer"/>.</summary>
    public readonly ushort BufferId => (ushort)((uint)Flags >> 16);
}

/// <summary><c>IORING_CQE_F_*</c>.</summary>
[Flags]
internal enum CqeFlags : uint
{
    None = 0,
    Buffer = 1 << 0,
    More = 1 << 1,
    SocketNonEmpty = 1 << 2,
    Notification = 1 << 3,
}
