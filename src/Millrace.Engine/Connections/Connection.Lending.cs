using System.Buffers;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine;

/// <content>
/// The socket, lent to another thread for one call. Who writes elsewhere need not wake the reactor for its bytes to be taken, which
/// costs more than the send does (docs/adr/0015-sends-from-elsewhere.md). Everything else stays the reactor's. What it may not do
/// meanwhile is to close the descriptor: its number could be another connection's before the call is made.
/// </content>
public sealed partial class Connection
{
    /// <summary>Parts that go out in one call: 64 KiB in blocks of Kestrel's.</summary>
    private const int PartsMost = 16;

    private int _loan;

    /// <summary>
    /// What has broken the connection, told to who sent elsewhere: the kernel tells it once, and a plain end or EPIPE from then on.
    /// </summary>
    private volatile int _errnoElsewhere;

    /// <summary>
    /// Sends what goes without a wait, and returns how many bytes that was. None where there are stages, to which the bytes go first;
    /// where the socket has no room, is closed or about to be; or after an error, which the next send at home tells. Any thread, one at a
    /// time, while the handler has not returned and nothing that it wrote is unsent.
    /// </summary>
    internal long SendElsewhere(in ReadOnlySequence<byte> bytes)
    {
        Debug.Assert(_filling is null && _sending is null, "Bytes would overtake those before them.");
        if (_outermostStage is not null || Interlocked.CompareExchange(ref _loan, Loan.Lent, Loan.None) != Loan.None)
        {
            return 0;
        }

        try
        {
            return SendLent(bytes);
        }
        finally
        {
            GiveBack();
        }
    }

    private void OpenLending()
    {
        _loan = Loan.None;
        _errnoElsewhere = 0;
    }

    private void GiveBack()
    {
        if (Interlocked.CompareExchange(ref _loan, Loan.None, Loan.Lent) != Loan.Lent)
        {
            Volatile.Write(ref _loan, Loan.Refused);
            Reactor.Post(static connection => ((Connection)connection!).Progress(), this);
        }
    }

    /// <summary>All of it, until the socket has no room, breaks, or is called in.</summary>
    private long SendLent(in ReadOnlySequence<byte> bytes)
    {
        long sent = 0;
        ReadOnlySequence<byte> left = bytes;
        while (!left.IsEmpty && Volatile.Read(ref _loan) == Loan.Lent)
        {
            nint result = SendParts(left);
            if (result <= 0)
            {
                NoteErrorElsewhere((int)-result);
                break;
            }

            sent += result;
            left = left.Slice(result);
        }

        return sent;
    }

    private void NoteErrorElsewhere(int errno)
    {
        if (errno is not (0 or Errno.EAGAIN or Errno.EINTR or Errno.ENOBUFS or Errno.ENOMEM or Errno.EPIPE))
        {
            _errnoElsewhere = errno;
        }
    }

    /// <summary>What broke the connection, where the kernel says that it is at its end: it may have told somebody else.</summary>
    private int ToldElsewhere(int errno) => errno is 0 or Errno.EPIPE && _errnoElsewhere is not 0 and var told ? told : errno;

    /// <summary>
    /// Whether a receive's plain end is none. Who has the socket may have been told what broke it, and not have come to say so: a FIN
    /// leaves a socket half open, a reset none. Otherwise what was received in part would look whole.
    /// </summary>
    private bool IsBrokenWhileLent() => Volatile.Read(ref _loan) is Loan.Lent or Loan.CalledIn && Backend.IsOver(_socket);

    /// <summary>No longer to be had by others; false while one has it, who gives it back and has the end go on.</summary>
    private bool TryCallIn()
    {
        while (true)
        {
            switch (Interlocked.CompareExchange(ref _loan, Loan.Refused, Loan.None))
            {
                case Loan.None or Loan.Refused:
                    return true;
                case Loan.CalledIn:
                    return false;
            }

            if (Interlocked.CompareExchange(ref _loan, Loan.CalledIn, Loan.Lent) == Loan.Lent)
            {
                return false;
            }
        }
    }

    /// <summary>The first parts in one call: the count, or -errno.</summary>
    private unsafe nint SendParts(in ReadOnlySequence<byte> bytes)
    {
        IoVector* vectors = stackalloc IoVector[PartsMost];
        var pins = default(Pins);
        int count = 0;
        try
        {
            foreach (ReadOnlyMemory<byte> part in bytes)
            {
                if (count == PartsMost)
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

    [InlineArray(PartsMost)]
    private struct Pins
    {
        private MemoryHandle _first;
    }

    private static class Loan
    {
        public const int None = 0;

        /// <summary>Another thread sends.</summary>
        public const int Lent = 1;

        /// <summary>It does so still, and the connection is to be closed behind it.</summary>
        public const int CalledIn = 2;

        /// <summary>Not to be had until the next peer's connection.</summary>
        public const int Refused = 3;
    }
}
