using System.Buffers.Text;
using System.Globalization;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>A client's connection that writes and reads bytes, and knows of HTTP what it takes to find the end of a response.</summary>
internal sealed class Wire : IDisposable
{
    /// <summary>From the connection's start to its last byte: a server that takes longer has not answered.</summary>
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(30);

    /// <summary>No test asks for more: a larger body is the wrong one, and not worth its time.</summary>
    private const int BodyBytesMax = 64 * 1024 * 1024;

    private readonly Transport _transport;
    private readonly CancellationTokenSource _deadline;
    private byte[] _input = new byte[64 * 1024];
    private int _start;
    private int _end;

    private Wire(Transport transport, CancellationTokenSource deadline) => (_transport, _deadline) = (transport, deadline);

    /// <param name="endPoint">Where the server listens.</param>
    /// <param name="receiveBufferBytes">Small, for a reader whom the server has to wait for; 0 for the system's choice.</param>
    /// <param name="front">Whether it is asked through TLS, and what is written and read here as HTTP/1.1 in HTTP/2 or HTTP/3.</param>
    public static async Task<Wire> ConnectAsync(EndPoint endPoint, int receiveBufferBytes, string front)
    {
        if (Fronts.IsHttp3(front))
        {
            return new Wire(
                await Http3Transport.ConnectAsync((IPEndPoint)endPoint, receiveBufferBytes, Fronts.BackendOf(front) == Fronts.Kestrel),
                new CancellationTokenSource(Limit));
        }

        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        if (receiveBufferBytes > 0)
        {
            socket.ReceiveBufferSize = receiveBufferBytes;
        }

        var deadline = new CancellationTokenSource(Limit);
        try
        {
            await socket.ConnectAsync(endPoint, deadline.Token);
            return new Wire(await TransportOfAsync(front, socket, deadline.Token), deadline);
        }
        catch
        {
            socket.Dispose();
            deadline.Dispose();
            throw;
        }
    }

    /// <summary>Sends until all is sent or the server wants no more: what it answered is to be read either way.</summary>
    public Task SendAsync(string text) => SendAsync(Encoding.Latin1.GetBytes(text));

    public async Task SendAsync(ReadOnlyMemory<byte> bytes)
    {
        try
        {
            while (!bytes.IsEmpty)
            {
                bytes = bytes[await _transport.SendAsync(bytes, _deadline.Token)..];
            }
        }
        catch (SocketException refused) when (refused.SocketErrorCode is SocketError.ConnectionReset or SocketError.Shutdown)
        {
            // It closed already; the response, if there is one, is in the socket's buffer.
        }
        catch (OperationCanceledException)
        {
            throw new Silence("does not read what is sent");
        }
    }

    /// <summary>The client has nothing more to say, but still reads.</summary>
    public Task FinishSendingAsync() => _transport.FinishSendingAsync();

    public async Task<Response> AskAsync(string method, string target, params string[] fields)
    {
        await SendAsync(Site.Request(method, target, fields));
        return await ReadResponseAsync(method);
    }

    public Task<Response> GetAsync(string target, params string[] fields) => AskAsync("GET", target, fields);

    /// <summary>Reads one response and not a byte more.</summary>
    public async Task<Response> ReadResponseAsync(string method = "GET")
    {
        Response head = await ReadHeadAsync(method);
        return head.Framing switch
        {
            Framing.None => head,
            Framing.Length => head with { Body = await ReadBytesAsync(LengthOf(head)) },
            Framing.Chunked => head with { Body = await ReadChunksAsync() },
            Framing.Close => head with { Body = await ReadToEndAsync() },
            _ => throw new InvalidOperationException($"{head.Framing} is no framing."),
        };
    }

    public async Task<Response> ReadHeadAsync(string method = "GET")
    {
        int end;
        while ((end = _input.AsSpan(_start, _end - _start).IndexOf("\r\n\r\n"u8)) < 0)
        {
            if (await FillAsync() == 0)
            {
                throw new Nonconformance(_start == _end ? "closed without an answer" : $"ended within a head: {Shown()}");
            }

            Expect.That(_end - _start < 5 || _input.AsSpan(_start).StartsWith("HTTP/"u8), $"no answer but {Shown()}");
        }

        Response response = ResponseHead.Parse(_input.AsSpan(_start, end + 4), method);
        _start += end + 4;
        return response;
    }

    public async Task<byte[]> ReadBytesAsync(int count)
    {
        byte[] bytes = new byte[count];
        for (int filled = 0; filled < count;)
        {
            if (_start == _end && await FillAsync() == 0)
            {
                throw new Nonconformance($"ended after {filled} of {count} bytes");
            }

            int taken = Math.Min(count - filled, _end - _start);
            _input.AsSpan(_start, taken).CopyTo(bytes.AsSpan(filled));
            _start += taken;
            filled += taken;
        }

        return bytes;
    }

    /// <summary>Everything up to the server's end, however it ends.</summary>
    public async Task<byte[]> ReadToEndAsync()
    {
        using var bytes = new MemoryStream();
        do
        {
            bytes.Write(_input, _start, _end - _start);
            _start = _end;
        }
        while (await FillAsync() > 0);

        return bytes.ToArray();
    }

    /// <summary>Demands that the server ends the connection, having sent nothing more.</summary>
    public async Task EndsAsync()
    {
        try
        {
            byte[] rest = await ReadToEndAsync();
            Expect.That(rest.Length == 0, $"then {Expect.Printable(Encoding.Latin1.GetString(rest, 0, Math.Min(rest.Length, 30)))}");
        }
        catch (Silence)
        {
            throw new Nonconformance("keeps the connection");
        }
    }

    /// <summary>Demands that the connection takes another request, or ends where the response said so.</summary>
    public async Task GoesOnAfterAsync(Response response)
    {
        if (response.Lists("Connection", "close"))
        {
            await EndsAsync();
        }
        else
        {
            (await GetAsync("/one.txt")).IsWhole(Site.Files["/one.txt"]);
        }
    }

    public void Dispose()
    {
        _transport.Dispose();
        _deadline.Dispose();
    }

    private static async Task<Transport> TransportOfAsync(string front, Socket socket, CancellationToken cancellation)
    {
        bool isHttp2 = Fronts.IsHttp2(front);
        Transport carrier = Fronts.IsTls(front)
            ? await TlsTransport.ShakeHandsAsync(
                socket, isHttp2 ? SslApplicationProtocol.Http2 : SslApplicationProtocol.Http11, cancellation)
            : new SocketTransport(socket);
        return isHttp2 ? new Http2Transport(carrier, Fronts.IsTls(front) ? "https" : "http") : carrier;
    }

    private static int LengthOf(Response head)
    {
        string text = head["Content-Length"]!;
        bool isNumber = int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int length);
        Expect.That(isNumber && length <= BodyBytesMax, $"{head.Status} with Content-Length: {text}");
        return length;
    }

    private async Task<byte[]> ReadChunksAsync()
    {
        using var bytes = new MemoryStream();
        while (true)
        {
            string line = await ReadLineAsync();
            Expect.That(
                Utf8Parser.TryParse(Encoding.Latin1.GetBytes(line), out int size, out int digits, 'x') && digits > 0,
                $"the chunk size '{Expect.Printable(line)}'");
            if (size == 0)
            {
                Expect.That(await ReadLineAsync() == "", "a trailer");
                return bytes.ToArray();
            }

            bytes.Write(await ReadBytesAsync(size));
            Expect.That(await ReadLineAsync() == "", "a chunk without its CRLF");
        }
    }

    private async Task<string> ReadLineAsync()
    {
        var line = new StringBuilder();
        while (line.Length < 2 || line[^2] != '\r' || line[^1] != '\n')
        {
            line.Append((char)(await ReadBytesAsync(1))[0]);
        }

        return line.ToString(0, line.Length - 2);
    }

    private async ValueTask<int> FillAsync()
    {
        if (_start == _end)
        {
            _start = _end = 0;
        }
        else if (_end == _input.Length)
        {
            Array.Resize(ref _input, _input.Length * 2);
        }

        try
        {
            int read = await _transport.ReceiveAsync(_input.AsMemory(_end), _deadline.Token);
            _end += read;
            return read;
        }
        catch (SocketException reset) when (reset.SocketErrorCode == SocketError.ConnectionReset)
        {
            return 0;
        }
        catch (OperationCanceledException)
        {
            throw new Silence(_start == _end ? "no answer" : "an answer without its end");
        }
    }

    private string Shown() => $"'{Expect.Printable(Encoding.Latin1.GetString(_input, _start, Math.Min(_end - _start, 30)))}'";
}
