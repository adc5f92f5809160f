using Millrace.Engine.Backends;
using Millrace.Interop;
using Millrace.Interop.Sockets;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <content>What is sent by calls, at once: the pages of real files, and what stands before them.</content>
internal sealed unsafe partial class SimulatedBackend
{
    /// <summary>UDP is simulated above the engine: see the folder Quic.</summary>
    public override void PrepareDatagrams() => throw new NotSupportedException("The simulated kernel has no UDP.");

    public override void SubmitReceiveDatagrams(OperationToken token, int socket) => PrepareDatagrams();

    public override void SubmitSendDatagram(OperationToken token, int socket, MessageHeader* message) => PrepareDatagrams();

    public override void ReturnDatagramBuffer(ushort bufferId) => PrepareDatagrams();

    /// <summary>Little enough for the files there are.</summary>
    public override FilePagePolicy FilePages { get; } = new(BytesMin: 50_000, PeerQueueBytes: 20_000, OwnQueueBytes: 270_000);

    public override nint SendNow(int socket, MessageHeader* message, bool hasMore = false)
    {
        using var all = new MemoryStream();
        foreach (IoVector part in new ReadOnlySpan<IoVector>(message->Vectors, (int)message->VectorCount))
        {
            all.Write(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes));
        }

        return SendAtOnce(socket, all.ToArray());
    }

    private byte[] _moved = [];

    /// <summary>Little enough for the responses there are.</summary>
    public override long MoveBytesMin => 600;

    public override int MoveIn(int source, int bytes)
    {
        byte[] buffer = new byte[bytes];
        int taken;
        fixed (byte* first = buffer)
        {
            taken = ReceiveNow(source, first, bytes);
        }

        Assert.Empty(_moved);
        _moved = buffer[..Math.Max(0, taken)];
        return taken;
    }

    public override int MoveOut(int destination, int bytes, bool hasMore)
    {
        int given = Math.Max(0, SendAtOnce(destination, _moved.AsSpan(0, bytes)));
        _moved = _moved[given..];
        return given;
    }

    public override void DrainMoved(byte* buffer, int bytes)
    {
        Assert.Equal(bytes, _moved.Length);
        _moved.CopyTo(new Span<byte>(buffer, bytes));
        _moved = [];
    }

    public override nint SendFile(int socket, int file, long offset, nuint bytes)
    {
        byte[] content = new byte[(int)bytes];
        int count = _world.Disk.ReadPages(file, content, offset);
        return count > 0 ? SendAtOnce(socket, content.AsSpan(0, count)) : count;
    }

    public override long CachedBytes(int file, long offset, long bytes) =>
        _world.Strikes(FaultKind.ColdFile, Trace.Kernel) ? _world.Random.Below((int)bytes) : bytes;

    private int SendAtOnce(int socket, ReadOnlySpan<byte> bytes) =>
        At(socket) is SimulatedSocket connection ? connection.SendAtOnce(bytes) : -Errno.EBADF;
}
