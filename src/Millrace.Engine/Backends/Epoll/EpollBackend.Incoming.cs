using System.Diagnostics;
using Millrace.Engine.Accounting;
using Millrace.Interop;
using Millrace.Interop.Epoll;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.Epoll;

/// <content>Accepts and receives: armed once, they complete repeatedly while the socket is known to be readable.</content>
internal sealed partial class EpollBackend
{
    /// <summary>
    /// Calls on one ready socket before the next one is served. A receive is limited to one call while other work is queued: completions
    /// are limited, and one fast sender would take eight.
    /// </summary>
    private const int CallsPerVisit = 8;

    /// <summary>Arms an accept or a receive. The first one is not tried: registering with epoll reports present readiness.</summary>
    private void Arm(in EpollWork work, EpollSocketState kind)
    {
        ref EpollSocket socket = ref _sockets.Of(work.Fd);
        int result = socket.Has(EpollSocketState.Watched) ? 0 : Watch(ref socket, work.Fd, kind & EpollSocketState.Listening);
        if (result < 0)
        {
            Complete(work.Token, result);
            return;
        }

        Debug.Assert(!socket.IsArmed, "A socket accepts or receives once at a time.");
        socket.Incoming = work.Token;
        socket.State = (socket.State & ~EpollSocketState.Once) | (kind & EpollSocketState.Once);
        _sockets.Note(work.Token, work.Fd);
        QueueIfReady(ref socket, work.Fd);
    }

    private int Watch(ref EpollSocket socket, int fd, EpollSocketState kind)
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

    private int Add(ref EpollSocket socket, int fd, EpollEventMask mask, EpollSocketState kind)
    {
        int result = EpollCalls.Add(_epoll, fd, mask, DataOf(socket, fd));
        if (result >= 0)
        {
            socket.State |= EpollSocketState.Watched | kind | (IsTcp(fd) ? EpollSocketState.ShortReceiveEmpties : EpollSocketState.None);
        }

        return result;
    }

    private void Accept(ref EpollSocket socket, int fd)
    {
        for (int calls = 0; calls < CallsPerVisit && HasRoom && socket.IsArmed && socket.Has(EpollSocketState.Readable); calls++)
        {
            int accepted = AcceptLimit.Accept(fd);
            if (accepted >= 0)
            {
                Complete(socket.Incoming, accepted, CompletionFlags.More);
            }
            else if (accepted == -Errno.EAGAIN)
            {
                socket.State &= ~EpollSocketState.Readable;
            }
            else if (accepted != -Errno.EINTR)
            {
                EndIncoming(ref socket, accepted);
            }
        }
    }

    private unsafe void Receive(ref EpollSocket socket, int fd)
    {
        int most = _work.Count == 0 ? CallsPerVisit : 1;
        for (int calls = 0; calls < most && HasRoom && socket.IsArmed && socket.Has(EpollSocketState.Readable); calls++)
        {
            if (!_buffers.TryTake(out ushort id))
            {
                EndIncoming(ref socket, -Errno.ENOBUFS);
                return;
            }

            byte* buffer = _buffers.AddressOf(id);
            int received = TransferCalls.Receive(fd, buffer, _buffers.BufferBytes);
            if (received > 0)
            {
                ref Completion completion = ref Complete(socket.Incoming, received, CompletionFlags.More | CompletionFlags.HasBuffer);
                completion.BufferId = id;
                completion.Data = buffer;
                NoteShort(ref socket, received);
                if (socket.Has(EpollSocketState.Once))
                {
                    completion.Flags = CompletionFlags.HasBuffer;
                    socket.Incoming = default;
                }

                continue;
            }

            _buffers.Return(id);
            if (received == -Errno.EAGAIN)
            {
                socket.State &= ~EpollSocketState.Readable;
            }
            else if (received != -Errno.EINTR)
            {
                EndIncoming(ref socket, received);
            }
        }
    }

    /// <summary>After a short receive, saves the call that would return EAGAIN: one of two per request.</summary>
    private void NoteShort(ref EpollSocket socket, int received)
    {
        const EpollSocketState Decisive = EpollSocketState.ShortReceiveEmpties | EpollSocketState.ReadToTheEnd;
        if (received < _buffers.BufferBytes && (socket.State & Decisive) == EpollSocketState.ShortReceiveEmpties)
        {
            socket.State &= ~EpollSocketState.Readable;
        }
    }

    private void EndIncoming(ref EpollSocket socket, int result)
    {
        Complete(socket.Incoming, result);
        socket.Incoming = default;
        socket.State &= ~EpollSocketState.Connecting;
    }

    private static bool IsTcp(int socket)
    {
        Span<byte> family = stackalloc byte[sizeof(int)];
        _ = SocketCalls.GetOption(socket, SocketOptionNumber.LevelSocket, SocketOptionNumber.Domain, family);
        return BitConverter.ToInt32(family) is AddressFamilyNumber.InterNetwork or AddressFamilyNumber.InterNetworkV6;
    }
}
