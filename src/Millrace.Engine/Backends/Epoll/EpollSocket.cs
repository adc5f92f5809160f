using System.Runtime.InteropServices;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>
/// A backend's state of one socket, from registration to close: reported edges and waiting operations. 16 bytes, since every reactor has
/// one for each descriptor number of the process.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal struct EpollSocket
{
    /// <summary>The accept, connect or receive that is armed; zero for none.</summary>
    public OperationToken Incoming;

    /// <summary>Index of the waiting send in <see cref="PendingSends"/>; -1 for none.</summary>
    public int Send;

    /// <summary>Grows with every close: identifies late events for an earlier socket with this number.</summary>
    public ushort Generation;

    public EpollSocketState State;

    public readonly bool IsArmed => Incoming.Value != 0;

    public readonly bool Has(EpollSocketState state) => (State & state) != 0;
}

[Flags]
internal enum EpollSocketState : ushort
{
    None = 0,

    /// <summary>Registered with epoll.</summary>
    Watched = 1,

    /// <summary>Registered for writability too.</summary>
    WatchedForWriting = 2,
    Listening = 4,

    /// <summary>Possibly readable: the last call did not return EAGAIN.</summary>
    Readable = 8,

    /// <summary>
    /// A receive that does not fill its buffer has emptied a TCP socket. Not a unix one, where it stops at a message with descriptors.
    /// </summary>
    ShortReceiveEmpties = 16,

    /// <summary>Read until EAGAIN: an end of stream, an error or urgent data may follow, for which no further edge comes.</summary>
    ReadToTheEnd = 32,

    /// <summary>The last send returned EAGAIN; the next edge clears this.</summary>
    SendBlocked = 64,

    /// <summary>In the work queue.</summary>
    Queued = 128,

    /// <summary>A connect is in progress.</summary>
    Connecting = 256,

    /// <summary>The receive ends with the first bytes.</summary>
    Once = 512,
}
