using System.Diagnostics;
using System.Numerics;
using System.Runtime.InteropServices;
using Millrace.Interop.Epoll;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>A backend's sockets by descriptor, their registrations with epoll, and the descriptor of each operation.</summary>
internal sealed class EpollSockets(int epoll)
{
    private const int AtStart = 64;

    private const EpollEventMask IncomingMask =
        EpollEventMask.Readable | EpollEventMask.PeerHangUp | EpollEventMask.Priority | EpollEventMask.EdgeTriggered;

    private EpollSocket[] _sockets = new EpollSocket[AtStart];
    private readonly int[][] _fdBySlot = [.. Enum.GetValues<OperationKind>().Select(static _ => Array.Empty<int>())];

    /// <summary>The socket of a descriptor, blank if new. The reference is valid until a call with a higher descriptor.</summary>
    public ref EpollSocket Of(int fd)
    {
        if (fd >= _sockets.Length)
        {
            Array.Resize(ref _sockets, LengthFor(fd));
        }

        return ref _sockets[fd];
    }

    public bool IsPresent(int fd, ushort generation) => fd < _sockets.Length && _sockets[fd].Generation == generation;

    /// <summary>Registers a socket, for what it receives or accepts.</summary>
    public int Watch(ref EpollSocket socket, int fd, EpollSocketState kind)
    {
        if (kind == EpollSocketState.Listening)
        {
            // accept4 has no flag for not blocking; receives and sends have one, so that connections need not be changed.
            int result = SocketCalls.SetNonBlocking(fd);
            if (result < 0)
            {
                return result;
            }
        }

        return Add(ref socket, fd, IncomingMask, kind);
    }

    /// <summary>Registered for good with the first send that did not fit: responses that always fit need no edge.</summary>
    public int WatchForWriting(ref EpollSocket socket, int fd)
    {
        const EpollEventMask Mask = IncomingMask | EpollEventMask.Writable;
        int result = socket.Has(EpollSocketState.Watched)
            ? EpollCalls.Modify(epoll, fd, Mask, DataOf(socket, fd))
            : Add(ref socket, fd, Mask, EpollSocketState.None);
        if (result >= 0)
        {
            socket.State |= EpollSocketState.WatchedForWriting;
        }

        return result;
    }

    public void Forget(int fd)
    {
        if (fd < _sockets.Length)
        {
            ref EpollSocket socket = ref _sockets[fd];
            if (socket.Has(EpollSocketState.Listening | EpollSocketState.Datagram))
            {
                // The kernel removes a closed socket by itself; but one that was bound may be shared with the process that did, and be
                // taken over again.
                _ = EpollCalls.Remove(epoll, fd);
            }

            Debug.Assert(!socket.IsArmed && !socket.Has(EpollSocketState.Sending), "A socket was closed under an operation.");
            socket = new EpollSocket { Generation = (ushort)(socket.Generation + 1) };
        }
    }

    public void Note(OperationToken token, int fd)
    {
        ref int[] fds = ref _fdBySlot[(int)token.Kind];
        if (token.Slot >= fds.Length)
        {
            Array.Resize(ref fds, LengthFor(token.Slot));
        }

        fds[token.Slot] = fd;
    }

    /// <summary>The descriptor of the last operation of this kind and slot; the caller compares tokens.</summary>
    public int FdOf(OperationToken token)
    {
        int[] fds = _fdBySlot[(int)token.Kind];
        return token.Slot < fds.Length ? fds[token.Slot] : 0;
    }

    private int Add(ref EpollSocket socket, int fd, EpollEventMask mask, EpollSocketState kind)
    {
        int result = EpollCalls.Add(epoll, fd, mask, DataOf(socket, fd));
        if (result >= 0)
        {
            socket.State |= EpollSocketState.Watched | kind | (IsTcp(fd) ? EpollSocketState.ShortReceiveEmpties : EpollSocketState.None);
        }

        return result;
    }

    private static ulong DataOf(in EpollSocket socket, int fd) => ((ulong)socket.Generation << 32) | (uint)fd;

    private static bool IsTcp(int socket)
    {
        Span<byte> family = stackalloc byte[sizeof(int)];
        _ = SocketCalls.GetOption(socket, SocketOptionNumber.LevelSocket, SocketOptionNumber.Domain, family);
        return BitConverter.ToInt32(family) is AddressFamilyNumber.InterNetwork or AddressFamilyNumber.InterNetworkV6;
    }

    private static int LengthFor(int index) => (int)BitOperations.RoundUpToPowerOf2((uint)index + 1);
}

/// <summary>
/// A backend's state of one socket, from registration to close: reported edges and waiting operations. 16 bytes, since every reactor has
/// one for each descriptor number of the process.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal struct EpollSocket
{
    /// <summary>The accept, connect or receive that is armed; zero for none.</summary>
    public OperationToken Incoming;

    /// <summary>Grows with every close: identifies late events for an earlier socket with this number.</summary>
    public ushort Generation;

    public EpollSocketState State;

    public readonly bool IsArmed => Incoming.Value != 0;

    /// <summary>Whether a send waits, and not for an edge.</summary>
    public readonly bool MaySend => Has(EpollSocketState.Sending) && !Has(EpollSocketState.SendBlocked);

    public readonly bool Has(EpollSocketState state) => (State & state) != 0;
}

[Flags]
internal enum EpollSocketState : ushort
{
    None = 0,

    Watched = 1,

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

    Queued = 128,

    Connecting = 256,

    Once = 512,

    Sending = 1024,

    /// <summary>A UDP socket: see <see cref="EpollDatagrams"/>.</summary>
    Datagram = 2048,
}
