using System.Net.Sockets;
using System.Text;

namespace Millrace.Server.Tests.Kit;

/// <summary>A client that asks for a file and reads only on request.</summary>
internal sealed class SlowDownload : IDisposable
{
    private readonly Socket _socket = new(SocketType.Stream, ProtocolType.Tcp) { ReceiveBufferSize = 4096 };
    private readonly CancellationTokenSource _deadline = new(TimeSpan.FromSeconds(60));

    /// <summary>Connects, asks, and reads the first byte of the answer: the server is at it.</summary>
    public static async Task<SlowDownload> StartAsync(Uri url)
    {
        var download = new SlowDownload();
        await download._socket.ConnectAsync(url.Host, url.Port, download._deadline.Token);
        byte[] request = Encoding.ASCII.GetBytes($"GET {url.PathAndQuery} HTTP/1.1\r\nHost: a\r\n\r\n");
        Assert.Equal(request.Length, await download._socket.SendAsync(request, SocketFlags.None, download._deadline.Token));
        Assert.Equal(1, await download._socket.ReceiveAsync(new byte[1], SocketFlags.None, download._deadline.Token));
        return download;
    }

    /// <summary>Reads so many bytes more.</summary>
    public async Task ReadAsync(int count)
    {
        using var stream = new NetworkStream(_socket);
        await stream.ReadExactlyAsync(new byte[count], _deadline.Token);
    }

    /// <summary>Everything that follows up to the server's end.</summary>
    public async Task<byte[]> ReadToEndAsync()
    {
        using var stream = new NetworkStream(_socket);
        using var bytes = new MemoryStream();
        await stream.CopyToAsync(bytes, _deadline.Token);
        return bytes.ToArray();
    }

    /// <summary>Reads nothing on, and waits for the server to lose its patience.</summary>
    public async Task AwaitResetAsync()
    {
        while (!_socket.Poll(TimeSpan.Zero, SelectMode.SelectError))
        {
            await Task.Delay(10, _deadline.Token);
        }
    }

    public void Dispose()
    {
        _socket.Dispose();
        _deadline.Dispose();
    }
}
