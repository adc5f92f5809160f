using System.Net.Sockets;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>A socket, with the bytes as they are.</summary>
internal sealed class SocketTransport(Socket socket) : Transport
{
    public override ValueTask<int> SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation) =>
        socket.SendAsync(bytes, SocketFlags.None, cancellation);

    public override ValueTask<int> ReceiveAsync(Memory<byte> bytes, CancellationToken cancellation) =>
        socket.ReceiveAsync(bytes, SocketFlags.None, cancellation);

    public override Task FinishSendingAsync()
    {
        socket.Shutdown(SocketShutdown.Send);
        return Task.CompletedTask;
    }

    public override void Dispose() => socket.Dispose();
}
