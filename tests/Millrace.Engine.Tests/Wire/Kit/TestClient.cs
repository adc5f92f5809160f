using System.Net.Sockets;

namespace Millrace.Engine.Tests.Wire.Kit;

/// <summary>A peer on .NET's own sockets, so that engine is never tested against engine. Every wait is bounded.</summary>
internal sealed class TestClient : IDisposable
{
    public TestClient(AddressFamily family, int? receiveBufferBytes = null)
    {
        Socket = new Socket(family, SocketType.Stream, family == AddressFamily.Unix ? ProtocolType.Unspecified : ProtocolType.Tcp);
        if (family != AddressFamily.Unix)
        {
            Socket.NoDelay = true;
        }

        if (receiveBufferBytes is { } bytes)
        {
            Socket.ReceiveBufferSize = bytes;
        }
    }

    public Socket Socket { get; }

    public async Task Send(ReadOnlyMemory<byte> bytes)
    {
        while (bytes.Length > 0)
        {
            int sent = await Socket.SendAsync(bytes).AsTask().WaitAsync(EngineTest.Patience);
            bytes = bytes[sent..];
        }
    }

    /// <summary>What came next, empty at the peer's end.</summary>
    public async Task<byte[]> ReceiveSome(int bytesMax = 64 * 1024)
    {
        byte[] buffer = new byte[bytesMax];
        int count = await Receive(buffer);
        return buffer[..count];
    }

    public Task<int> Receive(Memory<byte> buffer) => Socket.ReceiveAsync(buffer).AsTask().WaitAsync(EngineTest.Patience);

    public async Task<byte[]> Receive(int count)
    {
        byte[] bytes = new byte[count];
        int received = 0;
        while (received < count)
        {
            int more = await Receive(bytes.AsMemory(received));
            Assert.True(more > 0, $"The end came after {received} of {count} bytes.");
            received += more;
        }

        return bytes;
    }

    public async Task<byte[]> ReceiveToEnd()
    {
        using var all = new MemoryStream();
        byte[] buffer = new byte[64 * 1024];
        int count;
        while ((count = await Receive(buffer)) > 0)
        {
            all.Write(buffer, 0, count);
        }

        return all.ToArray();
    }

    public async Task<byte[]> Exchange(byte[] bytes)
    {
        Task<byte[]> response = Receive(bytes.Length);
        await Send(bytes);
        return await response;
    }

    /// <summary>Reads until the connection ends and demands that it is by a reset.</summary>
    public async Task ExpectReset()
    {
        SocketException error = await Assert.ThrowsAsync<SocketException>(ReceiveToEnd);
        Assert.Equal(SocketError.ConnectionReset, error.SocketErrorCode);
    }

    /// <summary>Sends the FIN; reading goes on.</summary>
    public void Finish() => Socket.Shutdown(SocketShutdown.Send);

    /// <summary>Closes with a reset.</summary>
    public void Reset()
    {
        Socket.LingerState = new LingerOption(true, 0);
        Socket.Dispose();
    }

    public void Dispose() => Socket.Dispose();
}
