using Microsoft.Win32.SafeHandles;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Simulation.Tests.Kernel;

/// <content>What is sent by calls, at once: the pages of real files, and what stands before them.</content>
internal sealed unsafe partial class SimulatedBackend
{
    public override nint SendBeforeMore(int socket, MessageHeader* message)
    {
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
        using var pages = new SafeFileHandle(file, ownsHandle: false);
        return SendAtOnce(socket, content.AsSpan(0, RandomAccess.Read(pages, content, offset)));
    }

    /// <summary>A call of another thread's: a run would not be the same twice.</summary>
    public override nint SendNow(int socket, MessageHeader* message) =>
        throw new NotSupportedException("The simulation has one thread.");

    private int SendAtOnce(int socket, ReadOnlySpan<byte> bytes) =>
        At(socket) is SimulatedSocket connection ? connection.SendAtOnce(bytes) : -Errno.EBADF;
}
