using System.Diagnostics;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.Epoll;

/// <content>Connects: started at once, completed by the edge that reports the socket writable.</content>
internal sealed partial class EpollBackend
{
    private unsafe void Connect(in EpollWork work)
    {
        ref EpollSocket socket = ref _sockets.Of(work.Fd);
        Debug.Assert(!socket.IsArmed, "A socket connects once, and before all else.");
        // connect has no flag for not blocking. The socket stays non-blocking, which all later calls are anyway.
        int result = SocketCalls.SetNonBlocking(work.Fd);
        if (result >= 0)
        {
            result = SocketCalls.Connect(work.Fd, new ReadOnlySpan<byte>(work.Memory, (int)work.Bytes));
        }

        if (result == -Errno.EINPROGRESS)
        {
            // A connecting socket has no other edge than the one that ends the connect.
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

    /// <summary>Marks a connecting socket as ready, so that <see cref="Advance"/> visits it.</summary>
    private static void NoteConnected(ref EpollSocket socket)
    {
        if (socket.Has(EpollSocketState.Connecting))
        {
            socket.State |= EpollSocketState.Readable;
        }
    }

    /// <summary>The socket stays marked readable: bytes of the peer may have come with the same edge.</summary>
    private void EndConnect(ref EpollSocket socket, int fd)
    {
        Span<byte> error = stackalloc byte[sizeof(int)];
        int result = SocketCalls.GetOption(fd, SocketOptionNumber.LevelSocket, SocketOptionNumber.Error, error);
        EndIncoming(ref socket, result < 0 ? result : -BitConverter.ToInt32(error));
    }
}
