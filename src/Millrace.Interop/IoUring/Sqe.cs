using System.Runtime.InteropServices;

namespace Millrace.Interop.IoUring;

/// <summary>A submission queue entry: <c>struct io_uring_sqe</c>, 64 bytes; unions are named for their use here.</summary>
[StructLayout(LayoutKind.Explicit, Size = 64)]
internal struct Sqe
{
    [FieldOffset(0)] public Opcode Opcode;
    [FieldOffset(1)] public SqeFlags Flags;
    [FieldOffset(2)] public ushort IoPriority;
    [FieldOffset(4)] public int Fd;

    /// <summary><c>off</c>: position in the file; -1 for the file's own.</summary>
    [FieldOffset(8)] public ulong Offset;

    /// <summary><c>addr</c>: the buffer, the msghdr, or the user_data to cancel.</summary>
    [FieldOffset(16)] public ulong Address;

    [FieldOffset(24)] public uint Length;

    /// <summary>
    /// The operation's own flags: <c>msg_flags</c>, <c>accept_flags</c>, <c>cancel_flags</c>, <c>rw_flags</c>, <c>poll32_events</c>.
    /// </summary>
    [FieldOffset(28)] public uint OperationFlags;

    [FieldOffset(32)] public ulong UserData;

    /// <summary><c>buf_group</c> with <see cref="SqeFlags.BufferSelect"/>.</summary>
    [FieldOffset(40)] public ushort BufferGroup;

    [FieldOffset(42)] public ushort Personality;
    [FieldOffset(44)] public int FileIndex;
    [FieldOffset(48)] public ulong Address3;
    [FieldOffset(56)] public ulong Padding;
}

/// <summary><c>IOSQE_*</c>.</summary>
[Flags]
internal enum SqeFlags : byte
{
    None = 0,
    BufferSelect = 1 << 5,
}

/// <summary><c>POLL*</c>.</summary>
internal static class PollEvents
{
    public const uint Writable = 4;
}

/// <summary>The values of <c>ioprio</c> for socket operations: <c>IORING_ACCEPT_*</c> and <c>IORING_RECV*</c>.</summary>
internal static class IoPriority
{
    public const ushort None = 0;
    public const ushort AcceptMultishot = 1 << 0;
    public const ushort ReceivePollFirst = 1 << 0;
    public const ushort ReceiveMultishot = 1 << 1;

    /// <summary><c>IORING_RECVSEND_FIXED_BUF</c>, of zero-copy sends.</summary>
    public const ushort SendRegisteredBuffer = 1 << 2;
}

/// <summary><c>enum io_uring_op</c>: the operations used here.</summary>
internal enum Opcode : byte
{
    Nop = 0,
    ReadFixed = 4,
    PollAdd = 6,
    SendMessage = 9,
    ReceiveMessage = 10,
    Accept = 13,
    AsyncCancel = 14,
    Connect = 16,
    Read = 22,
    Send = 26,
    Receive = 27,
    SendZeroCopy = 47,
    SendMessageZeroCopy = 48,
}

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

/// <summary>
/// <c>struct io_uring_recvmsg_out</c>, 16 bytes: begins a provided buffer with a message. The room for the address follows, that for
/// control messages, and the payload, whatever of the rooms is used.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal struct ReceivedMessage
{
    public uint NameBytes;
    public uint ControlBytes;

    /// <summary>Those that arrived: more than there are if <see cref="Flags"/> has <c>MSG_TRUNC</c>.</summary>
    public uint PayloadBytes;

    public uint Flags;
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
