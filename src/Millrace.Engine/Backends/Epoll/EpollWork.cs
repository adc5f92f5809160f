namespace Millrace.Engine.Backends.Epoll;

internal enum EpollWorkKind : byte
{
    Accept,
    Connect,
    Receive,
    ReceiveOnce,
    Send,
    SendMessage,
    ReceiveDatagrams,
    SendDatagram,
    AwaitRoom,
    Read,
    Cancel,

    /// <summary>A socket became ready, or has work left.</summary>
    Advance,

    /// <summary>An operation ended elsewhere.</summary>
    Complete,
}

/// <summary>One piece of work for the next iteration. All work is in one queue, so that nothing overtakes and nothing starves.</summary>
internal unsafe struct EpollWork
{
    public EpollWorkKind Kind;

    public int Fd;

    public OperationToken Token;

    /// <summary>The bytes to send, a message header, the address to connect to, or the destination of a read.</summary>
    public void* Memory;

    public nuint Bytes;

    /// <summary>The position in the file; for <see cref="EpollWorkKind.Complete"/> the result.</summary>
    public long Offset;
}
