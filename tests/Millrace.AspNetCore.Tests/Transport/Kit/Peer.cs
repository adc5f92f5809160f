using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.AspNetCore.Tests.Transport.Kit;

/// <summary>A client of the transport: a plain socket whose every wait ends.</summary>
internal sealed class Peer(Socket socket) : IDisposable
{
    public Socket Socket { get; } = socket;

    public static async Task<Peer> ConnectAsync(EndPoint endPoint, int? receiveBufferBytes = null)
    {
        var protocol = endPoint is UnixDomainSocketEndPoint ? ProtocolType.Unspecified : ProtocolType.Tcp;
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, protocol);
        try
        {
            if (receiveBufferBytes is { } bytes)
            {
                socket.ReceiveBufferSize = bytes;
            }

            await socket.ConnectAsync(endPoint).Within();
            return new Peer(socket);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    public async Task SendAsync(ReadOnlyMemory<byte> bytes)
    {
        while (bytes.Length > 0)
        {
            bytes = bytes[await Socket.SendAsync(bytes).Within()..];
        }
    }

    public Task SendAsync(string text) => SendAsync(text.Ascii());

    public async Task<string> ReceiveAsync(int count)
    {
        byte[] bytes = new byte[count];
        for (int had = 0; had < count;)
        {
            int more = await Socket.ReceiveAsync(bytes.AsMemory(had)).Within();
            Assert.True(more > 0, $"The end came after {had} of {count} bytes.");
            had += more;
        }

        return Encoding.ASCII.GetString(bytes);
    }

    /// <summary>Everything up to the FIN; a reset throws.</summary>
    public async Task<byte[]> ReceiveToEndAsync()
    {
        using var all = new MemoryStream();
        byte[] piece = new byte[64 * 1024];
        int count;
        while ((count = await Socket.ReceiveAsync(piece.AsMemory()).Within()) > 0)
        {
            all.Write(piece, 0, count);
        }

        return all.ToArray();
    }

    public async Task ExpectResetAsync()
    {
        SocketException error = await Assert.ThrowsAsync<SocketException>(ReceiveToEndAsync);
        Assert.Equal(SocketError.ConnectionReset, error.SocketErrorCode);
    }

    public void Reset()
    {
        Socket.LingerState = new LingerOption(true, 0);
        Socket.Dispose();
    }

    public void Dispose() => Socket.Dispose();
}
