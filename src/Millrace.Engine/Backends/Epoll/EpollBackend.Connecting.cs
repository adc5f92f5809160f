using System.Diagnostics;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.Epoll;

/// <content>Connects: begun at once, and finished by the edge that says that the socket can be written to.</content>
internal sealed partial class EpollBackend
{
    private unsafe void Connect(in Work work)
    {
        ref EpollSocket socket = ref _sockets.Of(work.Fd);
        Debug.Assert(!socket.IsArmed, "A socket connects once, and before all else.");
        // connect has no flag for not waiting. The socket stays so, as all that follows does not wait either.
        int result = SocketCalls.SetNonBlocking(work.Fd);
        if (result >= 0)
        {
            result = SocketCalls.Connect(work.Fd, new ReadOnlySpan<byte>(work.Memory, (int)work.Bytes));
        }

        if (result == -Errno.EINPROGRESS)
        {
            // A socket that has begun to connect has no edge but the one that ends it.
            result = socket.Has(EpollSocketState.WatchedForWriting) ? 0 : WatchForWriting(ref socket, work.Fd);
            if (result >= 0)
            {
                socket.State |= EpollSocketState.Connecting;
                socket.Incoming = work.Token;
                _sockets.Note(work.Token, work.Fd);
                return;
            }
        }

        Complete(work.Token, result);
    }

    /// <summary>What ends a connect makes the socket something to look at.</summary>
    private static void NoteConnected(ref EpollSocket socket)
    {
        if (socket.Has(EpollSocketState.Connecting))
        {
            socket.State |= EpollSocketState.Readable;
        }
    }

    /// <summary>It stays readable: what the peer has sent may have come with the same edge.</summary>
    private void EndConnect(ref EpollSocket socket, int fd)
    {
        Span<byte> error = stackalloc byte[sizeof(int)];
        int result = SocketCalls.GetOption(fd, SocketOptionNumber.LevelSocket, SocketOptionNumber.Error, error);
        EndIncoming(ref socket, result < 0 ? result : -BitConverter.ToInt32(error));
    }
}
