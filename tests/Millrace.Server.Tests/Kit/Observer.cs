using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Server.Tests.Kit;

/// <summary>
/// A proxy between a client and the server that notes the heads of what they say to each other,
/// and can cut a connection in the middle of a body.
/// </summary>
internal sealed class Observer : IAsyncDisposable
{
    private readonly Uri _server;
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _stop = new();
    private readonly ConcurrentQueue<Exchange> _exchanges = new();
    private readonly ConcurrentBag<Task> _connections = [];
    private readonly Task _accepting;
    private long _cutAfterBytes = long.MaxValue;

    public Observer(Uri server)
    {
        _server = server;
        _listener.Start();
        Url = new Uri($"http://{_listener.LocalEndpoint}/");
        _accepting = AcceptAsync();
    }

    public Uri Url { get; }

    public IReadOnlyList<Exchange> Exchanges => [.. _exchanges];

    /// <summary>The next answer that has a body as long ends there, with its connection.</summary>
    public void CutNextAfter(long bytes) => Interlocked.Exchange(ref _cutAfterBytes, bytes);

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        _listener.Stop();
        await _accepting;
        await Task.WhenAll(_connections);
        _stop.Dispose();
        _listener.Dispose();
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                _connections.Add(ServeAsync(await _listener.AcceptSocketAsync(_stop.Token)));
            }
        }
        catch (OperationCanceledException)
        {
            // Disposed.
        }
    }

    private async Task ServeAsync(Socket client)
    {
        using var upstream = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        client.NoDelay = true;
        try
        {
            await upstream.ConnectAsync(_server.Host, _server.Port, _stop.Token);
            var asked = new ConcurrentQueue<string>();
            Task requests = PumpRequestsAsync(client, upstream, asked);
            await PumpResponsesAsync(upstream, client, asked);
            upstream.Dispose();
            // An orderly end: a reset could take along what the client has not read yet.
            client.Shutdown(SocketShutdown.Send);
            await requests;
        }
        catch (Exception end) when (end is OperationCanceledException or SocketException or ObjectDisposedException)
        {
            // Either side may end as it likes: what was said is noted.
        }
        finally
        {
            client.Dispose();
        }
    }

    /// <summary>Requests are noted before they are handed on. None has a body.</summary>
    private async Task PumpRequestsAsync(Socket client, Socket upstream, ConcurrentQueue<string> asked)
    {
        var text = new StringBuilder();
        byte[] buffer = new byte[64 * 1024];
        try
        {
            int count;
            while ((count = await client.ReceiveAsync(buffer, _stop.Token)) > 0)
            {
                text.Append(Encoding.Latin1.GetString(buffer, 0, count));
                while (TakeHead(text) is string head)
                {
                    asked.Enqueue(head);
                }

                await SendAllAsync(upstream, buffer.AsMemory(0, count));
            }

            upstream.Shutdown(SocketShutdown.Send);
        }
        catch (Exception end) when (end is OperationCanceledException or SocketException or ObjectDisposedException)
        {
            upstream.Dispose();
        }
    }

    private async Task PumpResponsesAsync(Socket upstream, Socket client, ConcurrentQueue<string> asked)
    {
        var text = new StringBuilder();
        byte[] buffer = new byte[64 * 1024];
        long bodyLeft = 0;
        long cutAfter = long.MaxValue;
        int count;
        while ((count = await upstream.ReceiveAsync(buffer, _stop.Token)) > 0)
        {
            int position = 0;
            while (position < count)
            {
                long body = Math.Min(bodyLeft, count - position);
                position += (int)body;
                bodyLeft -= body;
                if (body > 0 && (cutAfter -= body) <= 0)
                {
                    await SendAllAsync(client, buffer.AsMemory(0, position + (int)cutAfter));
                    return;
                }

                if (bodyLeft == 0 && position < count)
                {
                    text.Append((char)buffer[position++]);
                    if (buffer[position - 1] == '\n' && TakeHead(text) is string head && Note(asked, head) is { } exchange)
                    {
                        bodyLeft = exchange.BodyBytes;
                        cutAfter = TakeCut(bodyLeft);
                    }
                }
            }

            await SendAllAsync(client, buffer.AsMemory(0, count));
        }
    }

    /// <summary>Notes a final answer; an interim one (100) is followed by another to the same request.</summary>
    private Exchange? Note(ConcurrentQueue<string> asked, string head)
    {
        bool isFinal = head[9] != '1';
        string request = "";
        if (!(isFinal ? asked.TryDequeue(out request!) : asked.TryPeek(out request!)))
        {
            throw new InvalidOperationException($"The server answered what nobody asked: {head}");
        }

        var exchange = new Exchange(request, head);
        if (isFinal)
        {
            _exchanges.Enqueue(exchange);
        }

        return exchange;
    }

    private long TakeCut(long bodyBytes)
    {
        long cut = Interlocked.Read(ref _cutAfterBytes);
        return cut < bodyBytes && Interlocked.CompareExchange(ref _cutAfterBytes, long.MaxValue, cut) == cut ? cut : long.MaxValue;
    }

    private static string? TakeHead(StringBuilder text)
    {
        string all = text.ToString();
        int end = all.IndexOf("\r\n\r\n", StringComparison.Ordinal);
        if (end < 0)
        {
            return null;
        }

        text.Remove(0, end + 4);
        return all[..(end + 4)];
    }

    private async Task SendAllAsync(Socket socket, ReadOnlyMemory<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            bytes = bytes[await socket.SendAsync(bytes, SocketFlags.None, _stop.Token)..];
        }
    }
}
