using System.Buffers;
using System.Diagnostics;
using System.Runtime.CompilerServices;
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

        long sent = 0;
        ReadOnlySequence<byte> left = bytes;
        while (!left.IsEmpty && SendParts(left) is > 0 and var count)
        {
            sent += count;
            left = left.Slice(count);
        }

        if (Interlocked.CompareExchange(ref _loan, Loan.None, Loan.Lent) != Loan.Lent)
        {
            Volatile.Write(ref _loan, Loan.Refused);
            Reactor.Post(static connection => ((Connection)connection!).Progress(), this);
        }

        return sent;
    }

    private void OpenLending() => _loan = Loan.None;

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
        for (int i = 0; i < count; i++)
        {
            pins[i].Dispose();
        }

        return sent;
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
