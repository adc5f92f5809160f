using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>How a peer ended a connection.</summary>
internal enum Ending
{
    Fin,
    Reset,
}

/// <summary>An answer as it came over the wire.</summary>
internal sealed record Response(int Status, string Head, string Body);

/// <summary>A client by the byte, for what an HTTP client would not do: halves, pipelines, silence and resets.</summary>
internal sealed class RawClient : IDisposable
{
    private readonly byte[] _buffer = new byte[65_536];
    private string _pending = "";

    private RawClient(Socket socket) => Socket = socket;

    public Socket Socket { get; }

    public static async Task<RawClient> ConnectAsync(EndPoint endPoint, int receiveBufferBytes = 0)
    {
        Socket socket = endPoint is UnixDomainSocketEndPoint
            ? new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        if (receiveBufferBytes > 0)
        {
            socket.ReceiveBufferSize = receiveBufferBytes;
        }

        try
        {
            await socket.ConnectAsync(endPoint).Within();
            return new RawClient(socket);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    public Task SendAsync(string text) => SendAsync(Encoding.Latin1.GetBytes(text));

    public async Task SendAsync(ReadOnlyMemory<byte> bytes)
    {
        while (bytes.Length > 0)
        {
            bytes = bytes[await Socket.SendAsync(bytes, SocketFlags.None).Within()..];
        }
    }

    /// <summary>A GET of HTTP/1.1, and its answer.</summary>
    public async Task<Response> GetAsync(string target = "/")
    {
        await SendAsync($"GET {target} HTTP/1.1\r\nHost: site\r\n\r\n");
        return await ReadResponseAsync();
    }

    /// <summary>The next answer, which states its length or comes in chunks; one without either has no body.</summary>
    public async Task<Response> ReadResponseAsync()
    {
        string head = await ReadThroughAsync("\r\n\r\n");
        int status = int.Parse(head.AsSpan("HTTP/1.1 ".Length, 3), CultureInfo.InvariantCulture);
        if (head.Contains("Transfer-Encoding: chunked", StringComparison.Ordinal))
        {
            return new Response(status, head, await ReadChunksAsync());
        }

        string? length = head.Split("\r\n").FirstOrDefault(static line => line.StartsWith("Content-Length: ", StringComparison.Ordinal));
        return new Response(
            status, head, length is null ? "" : await TakeAsync(int.Parse(length["Content-Length: ".Length..], CultureInfo.InvariantCulture)));
    }

    /// <summary>All up to and with the mark.</summary>
    public async Task<string> ReadThroughAsync(string mark)
    {
        int at;
        while ((at = _pending.IndexOf(mark, StringComparison.Ordinal)) < 0)
        {
            await ReceiveAsync();
        }

        return Cut(at + mark.Length);
    }

    /// <summary>Reads what is left, and says how the connection ended.</summary>
    public async Task<(string Text, Ending Ending)> ReadToEndAsync()
    {
        var text = new StringBuilder(Cut(_pending.Length));
        try
        {
            int received;
            while ((received = await Socket.ReceiveAsync(_buffer, SocketFlags.None).Within()) > 0)
            {
                text.Append(Encoding.Latin1.GetString(_buffer, 0, received));
            }

            return (text.ToString(), Ending.Fin);
        }
        catch (SocketException error) when (error.SocketErrorCode == SocketError.ConnectionReset)
        {
            return (text.ToString(), Ending.Reset);
        }
    }

    /// <summary>Sends no more; the rest can still be read.</summary>
    public void Fin() => Socket.Shutdown(SocketShutdown.Send);

    /// <summary>Ends with a reset.</summary>
    public void Reset() => Socket.Close(0);

    public void Dispose() => Socket.Dispose();

    private async Task<string> ReadChunksAsync()
    {
        var body = new StringBuilder();
        int length;
        do
        {
            string line = await ReadThroughAsync("\r\n");
            length = int.Parse(line.AsSpan().TrimEnd(), NumberStyles.HexNumber, CultureInfo.InvariantCulture);
            body.Append((await TakeAsync(length + 2)).AsSpan(0, length));
        }
        while (length > 0);
        return body.ToString();
    }

    private async Task<string> TakeAsync(int bytes)
    {
        while (_pending.Length < bytes)
        {
            await ReceiveAsync();
        }

        return Cut(bytes);
    }

    private async Task ReceiveAsync()
    {
        int received = await Socket.ReceiveAsync(_buffer, SocketFlags.None).Within();
        Assert.True(received > 0, $"The server closed after '{_pending}'.");
        _pending += Encoding.Latin1.GetString(_buffer, 0, received);
    }

    private string Cut(int bytes)
    {
        string cut = _pending[..bytes];
        _pending = _pending[bytes..];
        return cut;
    }
}
