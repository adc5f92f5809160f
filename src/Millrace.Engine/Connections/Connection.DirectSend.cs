using System.Buffers;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine;

/// <content>
/// Direct sends: another thread uses the socket for one call. A writer off the reactor need not wake the reactor for its bytes, which costs
/// more than the send itself (docs/adr/0015). Everything else stays with the reactor. During the lease the reactor
/// must not close the descriptor: its number could be reused by another connection before the call is made.
/// </content>
public sealed partial class Connection
{
    /// <summary>Parts per call: 64 KiB in Kestrel's blocks.</summary>
    private const int PartsMax = 16;

    private int _socketLease;

    /// <summary>
    /// The error that a direct send met: the kernel reports a socket error once, and then a plain end or EPIPE.
    /// </summary>
    private volatile int _directSendErrno;

    /// <summary>
    /// Sends what the socket takes without waiting and returns the byte count. 0 when the connection has filters, which must see the bytes
    /// first; when the socket has no room, is closed or is about to be; or after an error, which the next send of the reactor reports. Any
    /// thread, one at a time, while the handler has not returned and nothing that it wrote is unsent.
    /// </summary>
    internal long SendDirect(in ReadOnlySequence<byte> bytes)
    {
        Debug.Assert(_filling is null && _sending is null, "Bytes would overtake those before them.");
        if (_outermostFilter is not null
            || Interlocked.CompareExchange(ref _socketLease, SocketLease.Leased, SocketLease.None) != SocketLease.None)
        {
            return 0;
        }

        try
        {
            return SendLeased(bytes);
        }
        finally
        {
            ReturnLease();
        }
    }

    private void OpenDirectSend()
    {
        _socketLease = SocketLease.None;
        _directSendErrno = 0;
    }

    private void ReturnLease()
    {
        if (Interlocked.CompareExchange(ref _socketLease, SocketLease.None, SocketLease.Leased) != SocketLease.Leased)
        {
            Volatile.Write(ref _socketLease, SocketLease.Refused);
            Reactor.Post(static connection => ((Connection)connection!).Progress(), this);
        }
    }

    /// <summary>Sends until all is sent, the socket has no room or fails, or the lease is revoked.</summary>
    private long SendLeased(in ReadOnlySequence<byte> bytes)
    {
        long sent = 0;
        ReadOnlySequence<byte> remaining = bytes;
        while (!remaining.IsEmpty && Volatile.Read(ref _socketLease) == SocketLease.Leased)
        {
            nint result = SendParts(remaining);
            if (result <= 0)
            {
                NoteDirectSendError((int)-result);
                break;
            }

            sent += result;
            remaining = remaining.Slice(result);
        }

        return sent;
    }

    private void NoteDirectSendError(int errno)
    {
        if (errno is not (0 or Errno.EAGAIN or Errno.EINTR or Errno.ENOBUFS or Errno.ENOMEM or Errno.EPIPE))
        {
            _directSendErrno = errno;
        }
    }

    /// <summary>Replaces a plain end or EPIPE by the error that a direct send has consumed.</summary>
    private int WithDirectSendError(int errno) =>
        errno is 0 or Errno.EPIPE && _directSendErrno is not 0 and var reported ? reported : errno;

    /// <summary>
    /// Whether a plain end of the receive hides a reset. The thread that holds the lease may have consumed the socket error without having
    /// recorded it yet. A FIN leaves the socket half open and a reset does not, so the socket's state decides; otherwise a truncated
    /// request would look complete.
    /// </summary>
    private bool IsBrokenWhileLeased() =>
        Volatile.Read(ref _socketLease) is SocketLease.Leased or SocketLease.Revoked && Backend.IsOver(_socket);

    /// <summary>Revokes the lease for good; false while a thread holds it, whose return of the lease continues the close.</summary>
    private bool TryRevokeLease()
    {
        while (true)
        {
            switch (Interlocked.CompareExchange(ref _socketLease, SocketLease.Refused, SocketLease.None))
            {
                case SocketLease.None or SocketLease.Refused:
                    return true;
                case SocketLease.Revoked:
                    return false;
            }

            if (Interlocked.CompareExchange(ref _socketLease, SocketLease.Revoked, SocketLease.Leased) == SocketLease.Leased)
            {
                return false;
            }
        }
    }

    /// <summary>Sends the first parts in one call: the count, or -errno.</summary>
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
            nint sent = Backend.SendNow(_socket, &message);
            Interlocked.Add(ref Reactor.Counters.BytesSentElsewhere, Math.Max(0, sent));
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

    private static class SocketLease
    {
        public const int None = 0;

        /// <summary>Another thread sends.</summary>
        public const int Leased = 1;

        /// <summary>Another thread still sends; the connection closes when it returns the lease.</summary>
        public const int Revoked = 2;

        /// <summary>Not available until the slot's next connection.</summary>
        public const int Refused = 3;
    }
}
