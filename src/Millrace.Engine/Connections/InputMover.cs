using Millrace.Interop.Sockets;

namespace Millrace.Engine.Connections;

/// <summary>
/// Tells which bytes of a connection's input go to another connection as they are, so that the kernel can move them. Implemented by the
/// owner of the input. Reactor thread.
/// </summary>
internal interface IInputRelay
{
    /// <summary>Null if there is none.</summary>
    Connection? Destination { get; }

    /// <summary>
    /// How many of the next bytes the destination takes, if there is one; 0 while there is input that the handler has not consumed.
    /// </summary>
    long BytesMax { get; }

    /// <summary>Writes what goes before the next bytes on the destination: the header of a frame. Changes nothing.</summary>
    /// <param name="header">Room for <see cref="InputMover.HeaderBytesMax"/> bytes.</param>
    /// <param name="before">The bytes that precede the frame and are not reported yet.</param>
    /// <param name="bytes">The bytes at hand; set to those of the frame.</param>
    /// <returns>The bytes of the header; 0 for none.</returns>
    int Frame(Span<byte> header, int before, ref int bytes);

    /// <summary>The destination has got so many bytes, in frames, that never were input here, or has them in its output.</summary>
    void OnMoved(int bytes);
}

/// <summary>
/// Has the kernel move a connection's input to where its handler would write it unchanged. What the destination's socket does not take of
/// a frame that was begun is its output, and the rest is input. One per connection with a relay, owned by its receiver. Reactor thread.
/// </summary>
internal sealed unsafe class InputMover(Connection connection, IInputRelay relay)
{
    /// <summary>As much as any relay's header.</summary>
    public const int HeaderBytesMax = 16;

    /// <summary>Whether it may pay to move what the socket has.</summary>
    public bool MayMove => relay.Destination is not null && relay.BytesMax >= connection.Backend.MoveBytesMin;

    /// <summary>Moves what is there, at once.</summary>
    /// <param name="most">So many bytes at most.</param>
    /// <param name="rest">Room for them.</param>
    /// <param name="restBytes">How many of the bytes that were taken are input, at <paramref name="rest"/>.</param>
    /// <returns>The bytes that were taken from the socket; 0 at its end, or if nothing may be moved; or -errno.</returns>
    public int Move(int most, byte* rest, out int restBytes)
    {
        restBytes = 0;
        if (relay.Destination is not { } destination || !destination.Sender.MayMove)
        {
            return 0;
        }

        int taken = connection.Backend.MoveIn(connection.Descriptor, (int)Math.Min(most, relay.BytesMax));
        if (taken <= 0)
        {
            return taken;
        }

        byte* header = stackalloc byte[HeaderBytesMax];
        ReadOnlySpan<byte> unsentHeader = default;
        int unsent = 0;
        int moved = 0;
        long sent = 0;
        while (moved < taken)
        {
            int bytes = taken - moved;
            int headerBytes = relay.Frame(new Span<byte>(header, HeaderBytesMax), moved, ref bytes);
            int headerSent = headerBytes > 0 ? SendHeader(destination, header, headerBytes) : 0;
            if (headerSent == 0 && headerBytes > 0)
            {
                break;
            }

            int given = headerSent == headerBytes
                ? connection.Backend.MoveOut(destination.Descriptor, bytes, hasMore: moved + bytes < taken)
                : 0;
            sent += headerSent + given;
            moved += headerBytes > 0 ? bytes : given;
            if (given < bytes)
            {
                unsentHeader = new ReadOnlySpan<byte>(header + headerSent, headerBytes - headerSent);
                unsent = headerBytes > 0 ? bytes - given : 0;
                break;
            }
        }

        restBytes = taken - moved;
        connection.Backend.DrainMoved(rest, unsent + restBytes);
        destination.Sender.CountMoved(sent);
        bool isWritten = unsent == 0 || TryWrite(destination, unsentHeader, new ReadOnlySpan<byte>(rest, unsent));
        Buffer.MemoryCopy(rest + unsent, rest, restBytes, restBytes);
        relay.OnMoved(moved);

        // From here on, others may end what the relay does.
        destination.Sender.NotifyMoved();
        if (!isWritten)
        {
            destination.Abort();
        }

        return taken;
    }

    /// <summary>Returns the count; 0 without room, or after an error, which the destination's next send reports.</summary>
    private int SendHeader(Connection destination, byte* header, int bytes)
    {
        var vector = new IoVector { Address = header, Bytes = (nuint)bytes };
        var message = new MessageHeader { Vectors = &vector, VectorCount = 1 };
        return (int)Math.Max(0, connection.Backend.SendNow(destination.Descriptor, &message, hasMore: true));
    }

    /// <summary>Writes the rest of a frame. False without memory for it: nothing else can follow then.</summary>
    private static bool TryWrite(Connection destination, ReadOnlySpan<byte> header, ReadOnlySpan<byte> bytes)
    {
        try
        {
            destination.Write(header);
            destination.Write(bytes);
            destination.Flush();
            return true;
        }
        catch (InsufficientMemoryException)
        {
            return false;
        }
    }
}
