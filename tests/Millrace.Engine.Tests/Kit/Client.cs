using System.Net;
using System.Net.Sockets;

namespace Millrace.Engine.Tests.Kit;

/// <summary>A peer of the engine: a plain .NET socket with the verbs that tests need. Every wait ends.</summary>
internal sealed class Client(Socket socket) : IDisposable
{
    public Socket Socket { get; } = socket;

    public static async Task<Client> ConnectAsync(EndPoint endPoint, int? receiveBufferBytes = null)
    {
        bool isUnix = endPoint is UnixDomainSocketEndPoint;
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, isUnix ? ProtocolType.Unspecified : ProtocolType.Tcp);
        try
        {
            if (!isUnix)
            {
                socket.NoDelay = true;
            }

            if (receiveBufferBytes is { } bytes)
            {
                socket.ReceiveBufferSize = bytes;
            }

            await socket.ConnectAsync(endPoint).Within();
            return new Client(socket);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Clients that all at once send and get back what they sent.</summary>
    public static async Task EchoTogetherAsync(Listener listener, int connections, int bytes)
    {
        await Task.WhenAll(Enumerable.Range(0, connections).Select(async id =>
        {
            using Client client = await ConnectAsync(listener.EndPoint);
            byte[] sent = Pattern.Make(id, bytes);
            Task send = client.SendAsync(sent);
            Pattern.Check(id, await client.ReceiveAsync(bytes));
            await send;
            client.EndSending();
            Assert.Empty(await client.ReceiveToEndAsync());
        })).Within();
    }

    public async Task SendAsync(ReadOnlyMemory<byte> bytes)
    {
        while (bytes.Length > 0)
        {
            bytes = bytes[await Socket.SendAsync(bytes).AsTask().Within()..];
        }
    }

    public Task SendAsync(string text) => SendAsync(System.Text.Encoding.ASCII.GetBytes(text));

    /// <summary>Exactly so many bytes; fails when the end comes first.</summary>
    public async Task<byte[]> ReceiveAsync(int count)
    {
        byte[] bytes = new byte[count];
        for (int had = 0; had < count;)
        {
            int more = await Socket.ReceiveAsync(bytes.AsMemory(had)).AsTask().Within();
            Assert.True(more > 0, $"The end came after {had} of {count} bytes.");
            had += more;
        }

        return bytes;
    }

    public async Task<string> ReceiveTextAsync(int count) => System.Text.Encoding.ASCII.GetString(await ReceiveAsync(count));

    /// <summary>Everything up to the peer's FIN; a reset throws.</summary>
    public async Task<byte[]> ReceiveToEndAsync()
    {
        using var all = new MemoryStream();
        byte[] piece = new byte[64 * 1024];
        int count;
        while ((count = await Socket.ReceiveAsync(piece.AsMemory()).AsTask().Within()) > 0)
        {
            all.Write(piece, 0, count);
        }

        return all.ToArray();
    }

    /// <summary>Reads until the connection was reset; fails when it ended in order.</summary>
    public async Task ExpectResetAsync()
    {
        SocketException error = await Assert.ThrowsAsync<SocketException>(ReceiveToEndAsync);
        Assert.Equal(SocketError.ConnectionReset, error.SocketErrorCode);
    }

    public void EndSending() => Socket.Shutdown(SocketShutdown.Send);

    public void Reset()
    {
        Socket.LingerState = new LingerOption(true, 0);
        Socket.Dispose();
    }

    public void Dispose() => Socket.Dispose();
}
