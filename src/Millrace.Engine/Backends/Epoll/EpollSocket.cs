using System.Runtime.InteropServices;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>
/// What a backend knows of one of its sockets, between registration and close: what the edges so far said, and what waits for the
/// next. 16 bytes, since every reactor has one for each descriptor number of the process.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal struct EpollSocket
{
    /// <summary>The accept, connect or receive that is armed; none where it is zero.</summary>
    public OperationToken Incoming;

    /// <summary>The send that waits, by its place in <see cref="PendingSends"/>; -1 for none.</summary>
    public int Send;

    /// <summary>Grows with every close: what the kernel still says of an earlier tenant of the number is told by it.</summary>
    public ushort Generation;

    public EpollSocketState State;

    public readonly bool IsArmed => Incoming.Value != 0;

    public readonly bool Has(EpollSocketState state) => (State & state) != 0;
}

[Flags]
internal enum EpollSocketState : ushort
{
    None = 0,

    /// <summary>The kernel was told of it.</summary>
    Watched = 1,

    /// <summary>And to tell when it can be written to.</summary>
    WatchedForWriting = 2,
    Listening = 4,

    /// <summary>It may have something: the last call did not say otherwise.</summary>
    Readable = 8,

    /// <summary>
    /// A receive that does not fill its buffer has emptied a TCP socket. Not so a unix one's: it stops at what carries descriptors.
    /// </summary>
    ShortReceiveEmpties = 16,

    /// <summary>Except where an end, an error or urgent data follows: no further edge tells of these.</summary>
    ReadToTheEnd = 32,

    /// <summary>The last send was refused; the next edge lifts it.</summary>
    SendBlocked = 64,

    /// <summary>It is in the queue of work.</summary>
    Queued = 128,

    /// <summary>Its connect is on its way.</summary>
    Connecting = 256,

    /// <summary>Its receive ends with the first bytes.</summary>
    Once = 512,
}
