using System.Diagnostics;
using Millrace.Engine.Accounting;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>The completions of an iteration, up to a limit.</summary>
internal sealed class EpollCompletions(int most)
{
    private readonly Completion[] _completions = new Completion[most];

    public int Count { get; private set; }

    public bool HasRoom => Count < _completions.Length;

    public int Room => _completions.Length - Count;

    public ReadOnlySpan<Completion> All => new(_completions, 0, Count);

    public void Clear() => Count = 0;

    public ref Completion Add(OperationToken token, int result, CompletionFlags flags = CompletionFlags.None)
    {
        ref Completion completion = ref _completions[Count++];
        completion = new Completion { Token = token, Result = result, Flags = flags };
        return ref completion;
    }
}

/// <summary>
/// Accepts and receives: armed once, they complete repeatedly while the socket is known to be readable. Connects: started at once,
/// completed by the edge that reports the socket writable.
/// </summary>
internal sealed class EpollIncoming(EpollSockets sockets, FreeBuffers buffers, EpollCompletions completions)
{
    /// <summary>
    /// Calls on one ready socket before the next one is served. A receive is limited to one call while other work is queued: completions
    /// are limited, and one fast sender would take eight.
    /// </summary>
    private const int CallsPerVisit = 8;

    /// <summary>Arms an accept or a receive. The first one is not tried: registering with epoll reports present readiness.</summary>
    public void Arm(in EpollWork work, EpollSocketState kind)
    {
        ref EpollSocket socket = ref sockets.Of(work.Fd);
        int result = socket.Has(EpollSocketState.Watched) ? 0 : sockets.Watch(ref socket, work.Fd, kind & EpollSocketState.Listening);
        if (result < 0)
        {
            completions.Add(work.Token, result);
            return;
        }

        Debug.Assert(!socket.IsArmed, "A socket accepts or receives once at a time.");
        socket.Incoming = work.Token;
        socket.State = (socket.State & ~EpollSocketState.Once) | (kind & (EpollSocketState.Once | EpollSocketState.Datagram));
        sockets.Note(work.Token, work.Fd);
    }

    public void Accept(ref EpollSocket socket, int fd)
    {
        for (int calls = 0; calls < CallsPerVisit && CanContinue(socket); calls++)
        {
            int accepted = AcceptLimit.Accept(fd);
            if (accepted >= 0)
            {
                completions.Add(socket.Incoming, accepted, CompletionFlags.More);
            }
            else if (accepted == -Errno.EAGAIN)
            {
                socket.State &= ~EpollSocketState.Readable;
            }
            else if (accepted != -Errno.EINTR)
            {
                End(ref socket, accepted);
            }
        }
    }

    public unsafe void Receive(ref EpollSocket socket, int fd, bool isAlone)
    {
        int most = isAlone ? CallsPerVisit : 1;
        for (int calls = 0; calls < most && CanContinue(socket); calls++)
        {
            if (!buffers.TryTake(out ushort id))
            {
                End(ref socket, -Errno.ENOBUFS);
                return;
            }

            byte* buffer = buffers.AddressOf(id);
            int received = TransferCalls.Receive(fd, buffer, buffers.BufferBytes);
            if (received > 0)
            {
                const CompletionFlags Flags = CompletionFlags.More | CompletionFlags.HasBuffer;
                ref Completion completion = ref completions.Add(socket.Incoming, received, Flags);
                completion.BufferId = id;
                completion.Data = buffer;
                NoteReceived(ref socket, received, buffers.BufferBytes);
                if (socket.Has(EpollSocketState.Once))
                {
                    completion.Flags = CompletionFlags.HasBuffer;
                    socket.Incoming = default;
                }

                continue;
            }

            buffers.Return(id);
            NoteReceived(ref socket, received, buffers.BufferBytes);
            if (received is not (-Errno.EAGAIN or -Errno.EINTR))
            {
                End(ref socket, received);
            }
        }
    }

    private bool CanContinue(in EpollSocket socket) =>
        completions.HasRoom && socket.IsArmed && socket.Has(EpollSocketState.Readable);

    /// <summary>Notes a call's result. After a short one this saves the call that would return EAGAIN: one of two per request.</summary>
    public static void NoteReceived(ref EpollSocket socket, int received, int bytesMax)
    {
        const EpollSocketState Decisive = EpollSocketState.ShortReceiveEmpties | EpollSocketState.ReadToTheEnd;
        bool isShort = received > 0 && received < bytesMax && (socket.State & Decisive) == EpollSocketState.ShortReceiveEmpties;
        if (isShort || received == -Errno.EAGAIN)
        {
            socket.State &= ~EpollSocketState.Readable;
        }
    }

    public void End(ref EpollSocket socket, int result)
    {
        completions.Add(socket.Incoming, result);
        socket.Incoming = default;
        socket.State &= ~EpollSocketState.Connecting;
    }

    public unsafe void Connect(in EpollWork work)
    {
        ref EpollSocket socket = ref sockets.Of(work.Fd);
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
            result = socket.Has(EpollSocketState.WatchedForWriting) ? 0 : sockets.WatchForWriting(ref socket, work.Fd);
            if (result >= 0)
            {
                socket.State |= EpollSocketState.Connecting;
                socket.Incoming = work.Token;
                sockets.Note(work.Token, work.Fd);
                return;
            }
        }

        completions.Add(work.Token, result);
    }

    /// <summary>The socket stays marked readable: bytes of the peer may have come with the same edge.</summary>
    public void EndConnect(ref EpollSocket socket, int fd)
    {
        Span<byte> error = stackalloc byte[sizeof(int)];
        int result = SocketCalls.GetOption(fd, SocketOptionNumber.LevelSocket, SocketOptionNumber.Error, error);
        End(ref socket, result < 0 ? result : -BitConverter.ToInt32(error));
    }
}
