namespace Millrace.Engine.Backends.Epoll;

internal enum WorkKind : byte
{
    Accept,
    Connect,
    Receive,
    ReceiveOnce,
    Send,
    SendMessage,
    AwaitRoom,
    Read,
    Cancel,

    /// <summary>A socket has become ready, or was left with something to do.</summary>
    Advance,

    /// <summary>An operation has ended elsewhere.</summary>
    Complete,
}

/// <summary>One thing for the coming turn to do. All wait in one queue, so that nothing overtakes and nothing starves.</summary>
internal unsafe struct Work
{
    public WorkKind Kind;

    /// <summary>The socket or file.</summary>
    public int Fd;

    public OperationToken Token;

    /// <summary>What is sent, a message's header, the address to connect to, or where a read goes.</summary>
    public void* Memory;

    public nuint Bytes;

    /// <summary>Where in the file; for <see cref="WorkKind.Complete"/> the result.</summary>
    public long Offset;
}
