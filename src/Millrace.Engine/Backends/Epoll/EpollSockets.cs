using System.Diagnostics;
using System.Numerics;

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
