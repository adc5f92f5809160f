namespace Millrace.Interop.IoUring;

/// <summary><c>enum io_uring_op</c>: the operations used here.</summary>
internal enum Opcode : byte
{
    Nop = 0,
    ReadFixed = 4,
    PollAdd = 6,
    SendMessage = 9,
    Accept = 13,
    AsyncCancel = 14,
    Connect = 16,
    FilesUpdate = 20,
    Read = 22,
    Send = 26,
    Receive = 27,
    SendZeroCopy = 47,
    SendMessageZeroCopy = 48,
}
