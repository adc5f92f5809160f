using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Server.Tests.Proxying;

/// <summary>An application that answers each request with its name and the request's head, on a connection for each.</summary>
internal sealed class EchoUpstream : IDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly string _name;

    public EchoUpstream(string name)
    {
        _name = name;
        _listener.Start();
        _ = AcceptAsync();
    }

    public string Target => $"http://{_listener.LocalEndpoint}";

    public void Dispose() => _listener.Dispose();

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                _ = AnswerAsync(await _listener.AcceptTcpClientAsync());
            }
        }
        catch (Exception end) when (end is SocketException or ObjectDisposedException)
        {
            // Stopped.
        }
    }

    private async Task AnswerAsync(TcpClient client)
    {
        using (client)
        {
            NetworkStream stream = client.GetStream();
            byte[] bytes = new byte[16 * 1024];
            int length = 0;
            while (!bytes.AsSpan(0, length).EndsWith("\r\n\r\n"u8))
            {
                int read = await stream.ReadAsync(bytes.AsMemory(length));
                if (read == 0)
                {
                    return;
                }

                length += read;
            }

            string body = $"{_name}\n{Encoding.Latin1.GetString(bytes, 0, length)}";
            await stream.WriteAsync(Encoding.Latin1.GetBytes(
                $"HTTP/1.1 200 OK\r\nX-From: {_name}\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: {body.Length}\r\n\r\n{body}"));
        }
    }
}
