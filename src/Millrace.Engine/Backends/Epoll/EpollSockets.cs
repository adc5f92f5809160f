using System.Diagnostics;
using System.Numerics;
using System.Runtime.InteropServices;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>A backend's sockets by descriptor, and the descriptor of each operation.</summary>
internal sealed class EpollSockets
{
    private const int AtStart = 64;

    private EpollSocket[] _sockets = NewSockets(AtStart);
    private readonly int[][] _fdBySlot = [.. Enum.GetValues<OperationKind>().Select(static _ => Array.Empty<int>())];

    /// <summary>The socket of a descriptor, blank if new. The reference is valid until a call with a higher descriptor.</summary>
    public ref EpollSocket Of(int fd)
    {
        if (fd >= _sockets.Length)
        {
            Grow(fd);
        }

        return ref _sockets[fd];
    }

    /// <summary>Whether an event is for the present socket with this descriptor.</summary>
    public bool IsPresent(int fd, ushort generation) => fd < _sockets.Length && _sockets[fd].Generation == generation;

    /// <summary>The descriptor is about to be closed.</summary>
    public void Forget(int fd)
    {
        if (fd < _sockets.Length)
        {
            ref EpollSocket socket = ref _sockets[fd];
            Debug.Assert(!socket.IsArmed && socket.Send < 0, "A socket was closed under an operation.");
            socket = new EpollSocket { Send = -1, Generation = (ushort)(socket.Generation + 1) };
        }
    }

    /// <summary>Records an operation's descriptor for <see cref="FdOf"/>.</summary>
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

    private void Grow(int fd)
    {
        EpollSocket[] larger = NewSockets(LengthFor(fd));
        _sockets.CopyTo(larger, 0);
        _sockets = larger;
    }

    private static int LengthFor(int index) => (int)BitOperations.RoundUpToPowerOf2((uint)index + 1);

    private static EpollSocket[] NewSockets(int count)
    {
        var sockets = new EpollSocket[count];
        Array.Fill(sockets, new EpollSocket { Send = -1 });
        return sockets;
    }
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
