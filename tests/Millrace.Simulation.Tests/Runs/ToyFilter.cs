using System.Buffers.Binary;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Interop.Sockets;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>A filter, or its chain, that fails on purpose.</summary>
internal sealed class PlantedException() : Exception("This was to be.");

/// <summary>
/// The poor man's TLS: frames of two bytes of length and masked bytes, the empty one a last word. Any of its members may fail at any time;
/// whatever it does, it is released once.
/// </summary>
internal sealed class ToyFilter(World world, SimulatedSocket socket, byte mask) : ConnectionFilter
{
    public const int HeadBytes = 2;

    /// <summary>Of a chain of two, that next to the socket first.</summary>
    public static readonly byte[] Masks = [0x5A, 0xC3];

    /// <summary>Smaller than a buffer, so that frames and buffers do not fall together.</summary>
    public const int FrameBytesMax = 700;

    private readonly List<byte> _pending = [];
    private bool _wasEnded;
    private bool _isReleased;

    /// <summary>The filters of a connection; that they can be had is not sure.</summary>
    public static IReadOnlyList<ConnectionFilter> Chain(World world, SimulatedSocket socket)
    {
        if (world.Strikes(FaultKind.FilterFailed, socket.Number))
        {
            socket.Excuse();
            throw new PlantedException();
        }

        world.FiltersHeld += Masks.Length;
        return [.. Masks.Select(mask => new ToyFilter(world, socket, mask))];
    }

    /// <summary>Writes bytes as frames, masked.</summary>
    public static void Frame(ReadOnlySpan<byte> plain, byte mask, Action<byte[]> write)
    {
        while (plain.Length > 0)
        {
            ReadOnlySpan<byte> part = plain[..Math.Min(plain.Length, FrameBytesMax)];
            plain = plain[part.Length..];
            byte[] frame = new byte[HeadBytes + part.Length];
            BinaryPrimitives.WriteUInt16LittleEndian(frame, (ushort)part.Length);
            for (int i = 0; i < part.Length; i++)
            {
                frame[HeadBytes + i] = (byte)(part[i] ^ mask);
            }

            write(frame);
        }
    }

    /// <summary>Takes the whole frames from the front of what came, and says whether the last word was among them.</summary>
    public static bool Unframe(List<byte> pending, byte mask, List<byte> plain)
    {
        int at = 0;
        bool isEnded = false;
        while (pending.Count - at >= HeadBytes)
        {
            int bytes = pending[at] | (pending[at + 1] << 8);
            if (pending.Count - at - HeadBytes < bytes)
            {
                break;
            }

            isEnded |= bytes == 0;
            plain.AddRange(pending.Skip(at + HeadBytes).Take(bytes).Select(masked => (byte)(masked ^ mask)));
            at += HeadBytes + bytes;
        }

        pending.RemoveRange(0, at);
        return isEnded;
    }

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        MayFail();
        _pending.AddRange(bytes);
        var plain = new List<byte>();
        _wasEnded |= Unframe(_pending, mask, plain);

        // In pieces, as a filter may: any of them can end the handler.
        foreach (byte[] piece in plain.Chunk(1 + world.Random.Below(FrameBytesMax)))
        {
            PassIn(piece);
        }
    }

    public override ReceiveEnd ReceiveEnded(ReceiveEnd end)
    {
        MayFail();
        return end == ReceiveEnd.Finished && !_wasEnded ? ReceiveEnd.Reset : end;
    }

    public override unsafe void Encode(OutputBatch plain, OutputBatch encoded)
    {
        MayFail();
        foreach (ref readonly IoVector part in plain.Parts)
        {
            Frame(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes), mask, frame => encoded.Write(frame));
        }
    }

    public override void EncodeEnd(OutputBatch encoded)
    {
        MayFail();
        encoded.Write(new byte[HeadBytes]);
    }

    public override void Release()
    {
        if (_isReleased)
        {
            world.Fail(socket.Number, "A filter was released twice.");
        }

        _isReleased = true;
        world.FiltersHeld--;
        MayFail();
    }

    private void MayFail()
    {
        if (_isReleased && !world.HasFailed && !socket.IsClosed)
        {
            world.Fail(socket.Number, "A filter is used that was released.");
        }

        if (world.Strikes(FaultKind.FilterFailed, socket.Number))
        {
            socket.Excuse();
            throw new PlantedException();
        }
    }
}
