using System.Diagnostics;
using Millrace.Interop.Epoll;

namespace Millrace.Engine.Backends.Epoll;

/// <content>Sends: tried at once, and kept for an edge if the socket is full.</content>
internal sealed partial class EpollBackend
{
    private void Send(int fd, PendingSend send)
    {
        ref EpollSocket socket = ref _sockets.Of(fd);
        Debug.Assert(socket.Send < 0, "A socket sends once at a time.");
        socket.State &= ~EpollSocketState.SendBlocked;
        Settle(ref socket, fd, ref send, send.Advance(fd, out int result), result);
        QueueIfReady(ref socket, fd);
    }

    /// <summary>
    /// The edge may have been reported before, when nothing waited for it. Modifying the registration makes the kernel report the present
    /// state.
    /// </summary>
    private void AwaitRoom(int fd, OperationToken token)
    {
        ref EpollSocket socket = ref _sockets.Of(fd);
        Debug.Assert(socket.Send < 0, "A socket sends once at a time.");
        int result = WatchForWriting(ref socket, fd);
        if (result < 0)
        {
            Complete(token, result);
            return;
        }

        PendingSend wait = PendingSend.ForRoom(token);
        Settle(ref socket, fd, ref wait, SendStep.Blocked, 0);
    }

    /// <summary>After an attempt to send: completes it, or keeps it for an edge or for a later step.</summary>
    private void Settle(ref EpollSocket socket, int fd, ref PendingSend send, SendStep step, int result)
    {
        if (step == SendStep.Blocked && !socket.Has(EpollSocketState.WatchedForWriting))
        {
            result = WatchForWriting(ref socket, fd);
            step = result < 0 ? SendStep.Ended : step;
            result = send.ResultAfter(result);
        }

        if (step == SendStep.Ended)
        {
            Complete(send.Token, result);
            RemoveSend(ref socket);
            return;
        }

        if (step == SendStep.Blocked)
        {
            socket.State |= EpollSocketState.SendBlocked;
        }

        if (socket.Send < 0)
        {
            _sockets.Note(send.Token, fd);
            socket.Send = _sends.Add(send);
        }
    }

    /// <summary>Registered for good with the first send that did not fit: responses that always fit need no edge.</summary>
    private int WatchForWriting(ref EpollSocket socket, int fd)
    {
        const EpollEventMask Mask = IncomingMask | EpollEventMask.Writable;
        int result = socket.Has(EpollSocketState.Watched)
            ? EpollCalls.Modify(_epoll, fd, Mask, DataOf(socket, fd))
            : Add(ref socket, fd, Mask, EpollSocketState.None);
        if (result >= 0)
        {
            socket.State |= EpollSocketState.WatchedForWriting;
        }

        return result;
    }

    private void RemoveSend(ref EpollSocket socket)
    {
        if (socket.Send >= 0)
        {
            _sends.Remove(socket.Send);
            socket.Send = -1;
        }
    }
}
