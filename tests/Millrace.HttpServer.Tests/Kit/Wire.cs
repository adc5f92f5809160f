using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>How the server's side of a connection ended.</summary>
internal enum WireEnd
{
    Finished,
    Reset,
}

/// <summary>A client that writes and reads bytes, and knows as much of HTTP as it takes to find the end of a response. Bounded by a deadline.</summary>
internal sealed class Wire : IDisposable
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private readonly Socket _socket;
    private readonly CancellationTokenSource _deadline = new(Deadline);
    private byte[] _input = new byte[64 * 1024];
    private int _start;
    private int _end;

    private Wire(Socket socket) => _socket = socket;

    /// <param name="endPoint">Where the server listens.</param>
    /// <param name="receiveBufferBytes">Small, to make a peer that the server has to wait for; 0 for the system's choice.</param>
    /// <param name="from">Which of this machine's addresses to come from; null for the system's choice.</param>
    public static async Task<Wire> ConnectAsync(EndPoint endPoint, int receiveBufferBytes = 0, IPAddress? from = null)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        if (receiveBufferBytes > 0)
        {
            socket.ReceiveBufferSize = receiveBufferBytes;
        }

        if (from is not null)
        {
            socket.Bind(new IPEndPoint(from, 0));
        }

        var wire = new Wire(socket);
        await socket.ConnectAsync(endPoint, wire._deadline.Token);
        return wire;
    }

    public Task SendAsync(string text) => SendAsync(Encoding.Latin1.GetBytes(text));

    public async Task SendAsync(ReadOnlyMemory<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            int sent = await _socket.SendAsync(bytes, SocketFlags.None, _deadline.Token);
            bytes = bytes[sent..];
        }
    }

    /// <summary>Sends until all is sent or the server refuses to take more. The response must be readable either way.</summary>
    public async Task SendAsMuchAsWelcomeAsync(ReadOnlyMemory<byte> bytes)
    {
        try
        {
            await SendAsync(bytes);
        }
        catch (SocketException refused) when (refused.SocketErrorCode is SocketError.ConnectionReset or SocketError.Shutdown)
        {
            Assert.False(_deadline.IsCancellationRequested);
        }
    }

    /// <summary>The client has nothing more to say, but still reads.</summary>
    public void FinishSending() => _socket.Shutdown(SocketShutdown.Send);

    /// <summary>Ends the connection with a reset.</summary>
    public void Reset()
    {
        _socket.LingerState = new LingerOption(true, 0);
        _socket.Close();
    }

    public async Task<Response> GetAsync(string target)
    {
        await SendAsync($"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        return await ReadResponseAsync();
    }

    /// <summary>Reads one response and not a byte more.</summary>
    /// <param name="method">Of the request: the response to HEAD has no body, whatever its fields say.</param>
    public async Task<Response> ReadResponseAsync(string method = "GET")
    {
        Response response = await ReadHeadAsync();
        bool hasBody = method != "HEAD" && response.Status is not (204 or 304);
        return hasBody ? response with { Body = await ReadBytesAsync(int.Parse(response.Field("Content-Length")!)) } : response;
    }

    /// <summary>Reads one response with a body and forgets it.</summary>
    public async Task SkipResponseAsync()
    {
        Response head = await ReadHeadAsync();
        Assert.Equal(200, head.Status);
        for (int left = int.Parse(head.Field("Content-Length")!); left > 0;)
        {
            if (_start == _end)
            {
                Assert.True(await FillAsync() > 0, "The connection ended within a body");
            }

            int taken = Math.Min(left, _end - _start);
            _start += taken;
            left -= taken;
        }
    }

    public async Task<Response> ReadHeadAsync()
    {
        int end;
        while ((end = _input.AsSpan(_start, _end - _start).IndexOf("\r\n\r\n"u8)) < 0)
        {
            Assert.True(await FillAsync() > 0, $"The connection ended within a head: '{Encoding.Latin1.GetString(_input, _start, _end - _start)}'");
        }

        string head = Encoding.Latin1.GetString(_input, _start, end + 4);
        _start += end + 4;
        return Response.OfHead(head);
    }

    /// <summary>Reads a body in chunks, to its last.</summary>
    public async Task<byte[]> ReadChunksAsync()
    {
        using var body = new MemoryStream();
        while (true)
        {
            string line = "";
            while (!line.EndsWith("\r\n", StringComparison.Ordinal))
            {
                line += (char)(await ReadBytesAsync(1))[0];
            }

            int size = int.Parse(line[..^2], System.Globalization.NumberStyles.AllowHexSpecifier);
            body.Write(await ReadBytesAsync(size));
            Assert.Equal("\r\n"u8.ToArray(), await ReadBytesAsync(2));
            if (size == 0)
            {
                return body.ToArray();
            }
        }
    }

    public async Task<byte[]> ReadBytesAsync(int count)
    {
        byte[] bytes = new byte[count];
        for (int read = 0; read < count;)
        {
            if (_start == _end)
            {
                Assert.True(await FillAsync() > 0, $"The connection ended after {read} of {count} bytes");
            }

            int taken = Math.Min(count - read, _end - _start);
            _input.AsSpan(_start, taken).CopyTo(bytes.AsSpan(read));
            _start += taken;
            read += taken;
        }

        return bytes;
    }

    /// <summary>Everything up to the server's end, and how it ended.</summary>
    public async Task<(byte[] Bytes, WireEnd End)> ReadToEndAsync()
    {
        using var bytes = new MemoryStream();
        try
        {
            do
            {
                bytes.Write(_input, _start, _end - _start);
                _start = _end = 0;
            }
            while (await FillAsync() > 0);

            return (bytes.ToArray(), WireEnd.Finished);
        }
        catch (SocketException reset) when (reset.SocketErrorCode == SocketError.ConnectionReset)
        {
            return (bytes.ToArray(), WireEnd.Reset);
        }
    }

    /// <summary>Asserts that the server ends the connection in order, without another byte.</summary>
    public async Task AssertEndsAsync()
    {
        (byte[] bytes, WireEnd end) = await ReadToEndAsync();
        Assert.Equal("", Encoding.Latin1.GetString(bytes));
        Assert.Equal(WireEnd.Finished, end);
    }

    public void Dispose()
    {
        _socket.Dispose();
        _deadline.Dispose();
    }

    private async Task<int> FillAsync()
    {
        if (_start > 0)
        {
            _input.AsSpan(_start, _end - _start).CopyTo(_input);
            _end -= _start;
            _start = 0;
        }

        if (_end == _input.Length)
        {
            Array.Resize(ref _input, 2 * _input.Length);
        }

        int count = await _socket.ReceiveAsync(_input.AsMemory(_end), SocketFlags.None, _deadline.Token);
        _end += count;
        return count;
    }
}
