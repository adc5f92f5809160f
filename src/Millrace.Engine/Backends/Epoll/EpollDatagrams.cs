using System.Runtime.InteropServices;
using Millrace.Interop;
using Millrace.Interop.IoUring;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>
/// Datagrams on epoll: several by one call. What an iteration sends on a socket is collected and sent together; it waits for an edge when
/// the socket is full. Owns its buffers and the entries of calls. Reactor thread.
/// </summary>
internal sealed unsafe class EpollDatagrams(EpollSockets sockets, EpollCompletions completions, int bufferCount) : IDisposable
{
    /// <summary>Datagrams of one call, after which other sockets are served: a quarter of an iteration's completions.</summary>
    private const int BatchMax = 16;

    /// <summary>The sends that are not done, by descriptor.</summary>
    private readonly Dictionary<int, List<(OperationToken Token, nint Message)>> _sends = [];
    private readonly ushort[] _ids = new ushort[BatchMax];
    private FreeBuffers? _buffers;
    private MessageBatchEntry* _entries;
    private IoVector* _vectors;

    public void Prepare()
    {
        if (_buffers is null)
        {
            _buffers = new FreeBuffers(bufferCount, DatagramBuffer.Bytes);
            _entries = (MessageBatchEntry*)NativeMemory.AllocZeroed(BatchMax, (nuint)sizeof(MessageBatchEntry));
            _vectors = (IoVector*)NativeMemory.AllocZeroed(BatchMax, (nuint)sizeof(IoVector));
        }
    }

    public void Return(ushort bufferId) => _buffers!.Return(bufferId);

    public void DiscardPages()
    {
        if (_buffers is { AreAll: true })
        {
            _buffers.DiscardPages();
        }
    }

    public void Add(ref EpollSocket socket, int fd, OperationToken token, MessageHeader* message)
    {
        ref List<(OperationToken Token, nint Message)>? sends =
            ref CollectionsMarshal.GetValueRefOrAddDefault(_sends, fd, out _);
        (sends ??= []).Add((token, (nint)message));
        sockets.Note(token, fd);
        socket.State |= EpollSocketState.Sending | EpollSocketState.Datagram;
    }

    /// <summary>Sends and receives, as far as there is room for completions.</summary>
    public void Advance(ref EpollSocket socket, int fd)
    {
        if (socket.MaySend)
        {
            Send(ref socket, fd);
        }

        if (socket.IsArmed && socket.Has(EpollSocketState.Readable) && completions.HasRoom)
        {
            Receive(ref socket, fd);
        }
    }

    /// <summary>Cancels a send that waits for room; what the socket takes at once is sent.</summary>
    public void Cancel(ref EpollSocket socket, int fd, OperationToken target)
    {
        if (socket.MaySend)
        {
            Send(ref socket, fd);
        }

        if (!socket.Has(EpollSocketState.SendBlocked) || !completions.HasRoom || !_sends.TryGetValue(fd, out var sends))
        {
            return;
        }

        int index = sends.FindIndex(send => send.Token == target);
        if (index >= 0)
        {
            completions.Add(target, -Errno.ECANCELED);
            sends.RemoveAt(index);
            NoteSending(ref socket, sends.Count);
        }
    }

    public void Forget(int fd) => _sends.Remove(fd);

    public void Dispose()
    {
        _buffers?.Dispose();
        NativeMemory.Free(_entries);
        NativeMemory.Free(_vectors);
    }

    private void Receive(ref EpollSocket socket, int fd)
    {
        int wanted = TakeBuffers(Math.Min(BatchMax, completions.Room));
        if (wanted == 0)
        {
            End(ref socket, -Errno.ENOBUFS);
            return;
        }

        int received = DatagramCalls.Receive(fd, _entries, wanted);
        for (int i = 0; i < received; i++)
        {
            Complete(socket.Incoming, _entries[i], _ids[i]);
        }

        for (int i = wanted - 1; i >= Math.Max(received, 0); i--)
        {
            _buffers!.Return(_ids[i]);
        }

        if (received == -Errno.EAGAIN || (received >= 0 && received < wanted && !socket.Has(EpollSocketState.ReadToTheEnd)))
        {
            socket.State &= ~EpollSocketState.Readable;
        }
        else if (received < 0 && received != -Errno.EINTR)
        {
            End(ref socket, received);
        }
    }

    /// <summary>Prepares so many entries, or as many as there are buffers; returns their number.</summary>
    private int TakeBuffers(int wanted)
    {
        int count = 0;
        while (count < wanted && _buffers!.TryTake(out ushort id))
        {
            byte* buffer = _buffers.AddressOf(id);
            _ids[count] = id;
            _vectors[count] = new IoVector { Address = buffer + DatagramBuffer.PayloadOffset, Bytes = DatagramBuffer.PayloadBytes };
            _entries[count] = new MessageBatchEntry
            {
                Header = new MessageHeader
                {
                    Name = buffer + DatagramBuffer.NameOffset,
                    NameBytes = DatagramBuffer.NameBytes,
                    Control = buffer + DatagramBuffer.ControlOffset,
                    ControlBytes = DatagramBuffer.ControlBytes,
                    Vectors = &_vectors[count],
                    VectorCount = 1,
                },
            };
            count++;
        }

        return count;
    }

    private void Complete(OperationToken token, in MessageBatchEntry entry, ushort id)
    {
        byte* buffer = _buffers!.AddressOf(id);
        *(ReceivedMessage*)buffer = new ReceivedMessage
        {
            NameBytes = entry.Header.NameBytes,
            ControlBytes = (uint)entry.Header.ControlBytes,
            PayloadBytes = entry.Bytes,
            Flags = (uint)entry.Header.Flags,
        };
        int bytes = DatagramBuffer.PayloadOffset + (int)Math.Min(entry.Bytes, DatagramBuffer.PayloadBytes);
        ref Completion completion = ref completions.Add(token, bytes, CompletionFlags.More | CompletionFlags.HasBuffer);
        completion.BufferId = id;
        completion.Data = buffer;
    }

    private void End(ref EpollSocket socket, int result)
    {
        completions.Add(socket.Incoming, result);
        socket.Incoming = default;
    }

    private void Send(ref EpollSocket socket, int fd)
    {
        List<(OperationToken Token, nint Message)> sends = _sends[fd];
        MessageBatchEntry* entries = stackalloc MessageBatchEntry[BatchMax];
        int done = 0;
        while (done < sends.Count && completions.HasRoom && !socket.Has(EpollSocketState.SendBlocked))
        {
            int count = Math.Min(Math.Min(BatchMax, completions.Room), sends.Count - done);
            for (int i = 0; i < count; i++)
            {
                entries[i] = new MessageBatchEntry { Header = *(MessageHeader*)sends[done + i].Message };
            }

            int sent = DatagramCalls.Send(fd, entries, count);
            for (int i = 0; i < sent; i++)
            {
                completions.Add(sends[done++].Token, (int)entries[i].Bytes);
            }

            if (sent == -Errno.EAGAIN)
            {
                sent = Block(ref socket, fd);
            }

            if (sent < 0 && sent != -Errno.EINTR)
            {
                completions.Add(sends[done++].Token, sent);
            }
        }

        sends.RemoveRange(0, done);
        NoteSending(ref socket, sends.Count);
    }

    /// <summary>The socket is full: its next edge continues. Negative if it cannot be waited for.</summary>
    private int Block(ref EpollSocket socket, int fd)
    {
        int result = socket.Has(EpollSocketState.WatchedForWriting) ? 0 : sockets.WatchForWriting(ref socket, fd);
        socket.State |= result < 0 ? EpollSocketState.None : EpollSocketState.SendBlocked;
        return result;
    }

    private static void NoteSending(ref EpollSocket socket, int count)
    {
        if (count == 0)
        {
            socket.State &= ~(EpollSocketState.Sending | EpollSocketState.SendBlocked);
        }
    }
}
