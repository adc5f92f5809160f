using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.HttpServer.Tests.Proxying.Conformance;

/// <summary>What an upstream answers to one target.</summary>
/// <param name="Response">All of it, byte for byte in Latin-1.</param>
/// <param name="Closes">Whether it closes the connection after it.</param>
/// <param name="IsEarly">Whether it answers when it has the head, and reads the body after.</param>
internal sealed record UpstreamScript(string Response, bool Closes = false, bool IsEarly = false);

/// <summary>
/// An upstream over raw sockets: keeps every request as it came, byte for byte, and answers each with its own target, or as its script has
/// it. What cannot be read as a request is kept, too, and ends the connection.
/// </summary>
internal sealed class MarkingUpstream : IAsyncDisposable
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly CancellationTokenSource _end = new();
    private readonly ConcurrentBag<Task> _connections = [];
    private readonly ConcurrentQueue<string> _requests = new();
    private readonly ConcurrentQueue<string> _fragments = new();
    private readonly Dictionary<string, UpstreamScript> _scripts = [];
    private readonly Task _accepting;
    private int _accepted;

    private MarkingUpstream()
    {
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen(100);
        _accepting = AcceptAsync();
    }

    public string Url => string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{((IPEndPoint)_listener.LocalEndPoint!).Port}");

    /// <summary>Whole requests, each with its head and its body as they came.</summary>
    public string[] Requests => [.. _requests];

    /// <summary>What came and did not become a request.</summary>
    public string[] Fragments => [.. _fragments];

    public int Accepted => Volatile.Read(ref _accepted);

    public static MarkingUpstream Start() => new();

    /// <summary>Sets what is answered to a target; before its request comes.</summary>
    public void Script(string target, UpstreamScript script) => _scripts[target] = script;

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        _listener.Dispose();
        await _accepting;
        await Task.WhenAll(_connections).WaitAsync(Deadline);
        _end.Dispose();
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                Socket socket = await _listener.AcceptAsync(_end.Token);
                socket.NoDelay = true;
                Interlocked.Increment(ref _accepted);
                _connections.Add(ServeAsync(socket));
            }
        }
        catch (Exception ended) when (ended is OperationCanceledException or ObjectDisposedException or SocketException)
        {
            // The test is over.
        }
    }

    private async Task ServeAsync(Socket socket)
    {
        using Socket connection = socket;
        var input = new StringBuilder();
        byte[] buffer = new byte[16 * 1024];
        try
        {
            while (await ReadRequestAsync(connection, input, buffer) is { } request)
            {
                UpstreamScript? script = ScriptOf(request);
                if (script is not { IsEarly: true })
                {
                    await SendAsync(connection, script?.Response ?? MarkOf(request));
                }

                if (script is { Closes: true })
                {
                    return;
                }
            }
        }
        catch (Exception ended) when (ended is OperationCanceledException or SocketException)
        {
            // The proxy has reset the connection, or the test is over.
        }
        finally
        {
            if (input.Length > 0)
            {
                _fragments.Enqueue(input.ToString());
            }
        }
    }

    /// <summary>One whole request; null at the end, or for what is none.</summary>
    private async Task<string?> ReadRequestAsync(Socket connection, StringBuilder input, byte[] buffer)
    {
        bool hasAnswered = false;
        while (true)
        {
            string text = input.ToString();
            int head = text.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4;
            if (head >= 4 && !hasAnswered && ScriptOf(text) is { IsEarly: true } early)
            {
                hasAnswered = true;
                await SendAsync(connection, early.Response);
            }

            if (head >= 4 && LengthOf(text, head) is int length and >= 0 && text.Length >= length)
            {
                _requests.Enqueue(text[..length]);
                input.Remove(0, length);
                return text[..length];
            }

            int count = await connection.ReceiveAsync(buffer, SocketFlags.None, _end.Token);
            if (count == 0)
            {
                return null;
            }

            input.Append(Encoding.Latin1.GetString(buffer, 0, count));
        }
    }

    private UpstreamScript? ScriptOf(string request) => request.Split(' ', 3) is [_, var target, _] ? _scripts.GetValueOrDefault(target) : null;

    private static string MarkOf(string request)
    {
        string[] words = request.Split(' ', 3);
        string body = words[0] == "HEAD" ? "" : words[1];
        return string.Create(CultureInfo.InvariantCulture, $"HTTP/1.1 200 OK\r\nX-Answer: {words[1]}\r\nContent-Length: {words[1].Length}\r\n\r\n{body}");
    }

    /// <summary>Bytes of a request, or -1 while that is not known. Of two framings neither is taken.</summary>
    private static int LengthOf(string text, int head)
    {
        string[] lines = text[..(head - 4)].Split("\r\n");
        string[] lengths = [.. ValuesOf(lines, "Content-Length")];
        string[] codings = [.. ValuesOf(lines, "Transfer-Encoding")];
        return (lengths, codings) switch
        {
            ([], []) => head,
            ([var length], []) => head + int.Parse(length, NumberStyles.None, CultureInfo.InvariantCulture),
            ([], ["chunked"]) => LengthOfChunks(text, head),
            _ => -1,
        };
    }

    private static int LengthOfChunks(string text, int at)
    {
        while (true)
        {
            int end = text.IndexOf("\r\n", at, StringComparison.Ordinal);
            if (end < 0 || !int.TryParse(text[at..end], NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out int size))
            {
                return -1;
            }

            if (size == 0)
            {
                int last = text.IndexOf("\r\n\r\n", end, StringComparison.Ordinal);
                return last < 0 ? -1 : last + 4;
            }

            at = end + 2 + size + 2;
            if (at > text.Length)
            {
                return -1;
            }
        }
    }

    private static IEnumerable<string> ValuesOf(string[] lines, string name) => lines.Skip(1)
        .Where(line => line.StartsWith(name + ":", StringComparison.OrdinalIgnoreCase))
        .Select(line => line[(name.Length + 1)..].Trim(' '));

    private async Task SendAsync(Socket connection, string text)
    {
        for (ReadOnlyMemory<byte> left = Encoding.Latin1.GetBytes(text); !left.IsEmpty;)
        {
            left = left[(await connection.SendAsync(left, SocketFlags.None, _end.Token))..];
        }
    }
}
