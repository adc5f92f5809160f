using System.Diagnostics;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Server.Tests.Kit;

/// <summary>An answer as it came.</summary>
internal sealed record WireResponse(string Head, byte[] Body)
{
    /// <summary>0 where the server ended the connection without a word.</summary>
    public int Status => Head.Length == 0 ? 0 : int.Parse(Head.AsSpan(9, 3));

    public string? Field(string name) => Exchange.Field(Head, name);
}

/// <summary>
/// A connection that sends given bytes unchanged: no client library tidies them first. To an https URL it speaks TLS, and
/// offers no protocol.
/// </summary>
internal sealed class Wire : IDisposable
{
    /// <summary>Nothing that is asked for on loopback takes as long.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly Socket _socket = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
    private readonly Stream _stream;
    private readonly BufferedStream _input;

    private Wire(Uri server)
    {
        _socket.Connect(server.Host, server.Port);
        _socket.ReceiveTimeout = (int)Patience.TotalMilliseconds;
        _stream = new NetworkStream(_socket);
        if (server.Scheme == Uri.UriSchemeHttps)
        {
            var secure = new SslStream(_stream, leaveInnerStreamOpen: false, OwnCertificate.IsAnything);
            secure.AuthenticateAsClient(server.Host);
            _stream = secure;
        }

        _input = new BufferedStream(_stream, 64 * 1024);
    }

    public static Wire Open(Uri server) => new(server);

    /// <summary>One request on a connection of its own.</summary>
    public static WireResponse Get(Uri server, string target, params string[] fields)
    {
        using Wire wire = Open(server);
        return wire.Ask(target, fields);
    }

    /// <summary>Asks until the answer is as it should be.</summary>
    public static async Task AwaitAsync(Uri server, string target, Func<WireResponse, bool> isAsItShouldBe)
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (Get(server, target) is var response && !isAsItShouldBe(response))
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Patience, $"{target} is still answered with\n{response.Head}");
            await Task.Delay(5);
        }
    }

    public WireResponse Ask(string target, params string[] fields)
    {
        string lines = string.Concat(fields.Select(static field => field + "\r\n"));
        return Send(Encoding.Latin1.GetBytes($"GET {target} HTTP/1.1\r\nHost: millrace\r\n{lines}\r\n"));
    }

    /// <summary>Sends bytes as they are and reads one answer.</summary>
    public WireResponse Send(ReadOnlySpan<byte> bytes)
    {
        _stream.Write(bytes);
        return Read();
    }

    /// <summary>The head of an answer to HEAD, which nothing follows.</summary>
    public string HeadOf(string target)
    {
        _stream.Write(Encoding.Latin1.GetBytes($"HEAD {target} HTTP/1.1\r\nHost: millrace\r\nConnection: close\r\n\r\n"));
        using var reader = new StreamReader(_input, Encoding.Latin1);
        return reader.ReadToEnd();
    }

    public void Dispose()
    {
        _input.Dispose();
        _socket.Dispose();
    }

    private WireResponse Read()
    {
        var head = new StringBuilder();
        int next;
        while ((next = _input.ReadByte()) >= 0)
        {
            head.Append((char)next);
            if (next == '\n' && head.Length >= 4 && head[^2] == '\r' && head[^3] == '\n')
            {
                var response = new WireResponse(head.ToString(), []);
                return response with { Body = ReadBody(response) };
            }
        }

        return new WireResponse("", []);
    }

    private byte[] ReadBody(WireResponse response)
    {
        if (response.Status is < 200 or 204 or 304)
        {
            return [];
        }

        byte[] body = new byte[int.Parse(response.Field("Content-Length") ?? "0")];
        _input.ReadExactly(body);
        return body;
    }
}
