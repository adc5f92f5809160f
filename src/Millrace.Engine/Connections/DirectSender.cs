using System.Buffers;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using Millrace.Engine.Listening;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Connections;

/// <summary>
/// Sends of other threads, which use the socket for one call. A writer off the reactor need not wake the reactor for its bytes, which costs
/// more than the send itself (docs/adr/0015-direct-sends-from-other-threads.md). Everything else stays with the reactor. During the lease
/// the reactor must not close the descriptor: its number could be reused by another connection before the call is made.
/// </summary>
internal sealed class DirectSender(Connection connection)
{
    /// <summary>Parts per call: 64 KiB in Kestrel's blocks.</summary>
    private const int PartsMax = 16;

    private OwnershipGate _socket;

    /// <summary>The error that a send met: the kernel reports a socket error once, and then a plain end or EPIPE.</summary>
    private volatile int _errno;

    /// <summary>
    /// Whether a plain end of the receive hides a reset. The thread that holds the lease may have consumed the socket error without having
    /// recorded it yet. A FIN leaves the socket half open and a reset does not, so the socket's state decides; otherwise a truncated
    /// request would look complete.
    /// </summary>
    public bool EndHidesReset => _socket.IsInUse && connection.Backend.IsOver(connection.Descriptor);

    public void Open()
    {
        _socket = default;
        _errno = 0;
    }

    /// <summary>
    /// Sends what the socket takes without waiting and returns the byte count. 0 when the connection has filters, which must see the bytes
    /// first; when the socket has no room, is closed or is about to be; or after an error, which the next send of the reactor reports. Any
    /// thread, one at a time, while the handler has not returned and nothing that it wrote is unsent.
    /// </summary>
    public long Send(in ReadOnlySequence<byte> bytes)
    {
        Debug.Assert(connection.Writer.IsEmpty && connection.Sender.IsIdle, "Bytes would overtake those before them.");
        if (!connection.Filters.IsEmpty || !_socket.TryUse())
        {
            return 0;
        }

        try
        {
            return SendLeased(bytes);
        }
        finally
        {
            if (_socket.GiveBack())
            {
                connection.Reactor.Post(static connection => ((Connection)connection!).Progress(), connection);
            }
        }
    }

    /// <summary>Replaces a plain end or EPIPE by the error that a send has consumed.</summary>
    public int WithError(int errno) => errno is 0 or Errno.EPIPE && _errno is not 0 and var reported ? reported : errno;

    /// <summary>Ends the leases for good; false while a thread holds one, whose return of it continues the close.</summary>
    public bool TryEnd() => _socket.TryEnd();

    /// <summary>Sends until all is sent, the socket has no room or fails, or the connection is about to close.</summary>
    private long SendLeased(in ReadOnlySequence<byte> bytes)
    {
        long sent = 0;
        ReadOnlySequence<byte> remaining = bytes;
        while (!remaining.IsEmpty && !_socket.IsWanted)
        {
            nint result = SendParts(remaining);
            if (result <= 0)
            {
                NoteError((int)-result);
                break;
            }

            sent += result;
            remaining = remaining.Slice(result);
        }

        return sent;
    }

    private void NoteError(int errno)
    {
        if (errno is not (0 or Errno.EAGAIN or Errno.EINTR or Errno.ENOBUFS or Errno.ENOMEM or Errno.EPIPE))
        {
            _errno = errno;
        }
    }

    private unsafe nint SendParts(in ReadOnlySequence<byte> bytes)
    {
        IoVector* vectors = stackalloc IoVector[PartsMax];
        var pins = default(Pins);
        int count = 0;
        try
        {
            foreach (ReadOnlyMemory<byte> part in bytes)
            {
                if (count == PartsMax)
                {
                    break;
                }

                pins[count] = part.Pin();
                vectors[count] = new IoVector { Address = (byte*)pins[count].Pointer, Bytes = (nuint)part.Length };
                count++;
            }

            var message = new MessageHeader { Vectors = vectors, VectorCount = (nuint)count };
            nint sent = connection.Backend.SendNow(connection.Descriptor, &message);
            Interlocked.Add(ref connection.Reactor.Counters.BytesSentElsewhere, Math.Max(0, sent));
            return sent;
        }
        finally
        {
            foreach (ref MemoryHandle pin in pins[..count])
            {
                pin.Dispose();
            }
        }
    }

    [InlineArray(PartsMax)]
    private struct Pins
    {
        private MemoryHandle _first;
    }
}
