using Millrace.Engine.Backends;
using Millrace.Interop;
using Millrace.Interop.Sockets;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <content>What is sent by calls, at once: the pages of real files, and what stands before them.</content>
internal sealed unsafe partial class SimulatedBackend
{
    /// <summary>Little enough for the files there are.</summary>
    public override FilePagePolicy FilePages { get; } = new(BytesMin: 50_000, PeerQueueBytes: 20_000, OwnQueueBytes: 270_000);

    /// <summary>A call with nothing to follow is another thread's: a run would not be the same twice.</summary>
    public override nint SendNow(int socket, MessageHeader* message, bool hasMore = false)
    {
        if (!hasMore)
        {
            throw new NotSupportedException("The simulation has one thread.");
        }

        using var all = new MemoryStream();
        foreach (IoVector part in new ReadOnlySpan<IoVector>(message->Vectors, (int)message->VectorCount))
        {
            all.Write(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes));
        }

        return SendAtOnce(socket, all.ToArray());
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
