using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Server.Tests.Kit;

/// <summary>Connections that ask a server for more than it can do, each as a legal client may, until it is disposed.</summary>
internal sealed class Flood : IAsyncDisposable
{
    private readonly CancellationTokenSource _stop = new();
    private readonly List<Socket> _sockets = [];
    private readonly List<Task> _running = [];
    private long _receivedBytes;

    private Flood()
    {
    }

    /// <summary>What the server has answered so far.</summary>
    public long ReceivedBytes => Interlocked.Read(ref _receivedBytes);

    /// <summary>HTTP/2, so many HEADs in flight on each connection.</summary>
    public static Flood OfHeads(Uri url, int connections, int inFlight, string path) =>
        Begin(url, connections, (flood, socket) => new HeadStream(flood, path).RunAsync(socket, inFlight));

    /// <summary>HTTP/1.1, pipelined requests.</summary>
    public static Flood OfPipelines(Uri url, int connections, string path) => Begin(url, connections, async (flood, socket) =>
    {
        byte[] requests = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat($"GET {path} HTTP/1.1\r\nHost: flood\r\n\r\n", 100)));
        await Task.WhenAll(flood.SendWithoutEndAsync(socket, requests), flood.DropAsync(socket));
    });

    /// <summary>HTTP/1.1, downloads one after the other, as fast as they come.</summary>
    public static Flood OfDownloads(Uri url, int connections, string path) => OfPipelines(url, connections, path);

    /// <summary>A new connection for each request.</summary>
    public static Flood OfConnections(Uri url, int connections, string path)
    {
        var flood = new Flood();
        for (int i = 0; i < connections; i++)
        {
            flood._running.Add(Task.Run(() => flood.ReconnectAsync(url, path)));
        }

        return flood;
    }

    /// <summary>Waits until the server has answered more.</summary>
    public async Task AwaitResponsesAsync()
    {
        long before = ReceivedBytes;
        using var deadline = new CancellationTokenSource(TimeSpan.FromMinutes(1));
        while (ReceivedBytes == before)
        {
            await Task.Delay(1, deadline.Token);
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        _sockets.ForEach(static socket => socket.Dispose());
        await Task.WhenAll(_running);
        _stop.Dispose();
    }

    private static Flood Begin(Uri url, int connections, Func<Flood, Socket, Task> run)
    {
        var flood = new Flood();
        for (int i = 0; i < connections; i++)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
            socket.Connect(IPAddress.Loopback, url.Port);
            flood._sockets.Add(socket);
        }

        foreach (Socket socket in flood._sockets)
        {
            flood._running.Add(Task.Run(() => flood.UntilStoppedAsync(run(flood, socket))));
        }

        return flood;
    }

    /// <summary>Its end is the test's; any before it is a fault.</summary>
    private async Task UntilStoppedAsync(Task work)
    {
        try
        {
            await work;
        }
        catch (Exception fault) when (fault is SocketException or ObjectDisposedException && _stop.IsCancellationRequested)
        {
            return;
        }

        Assert.True(_stop.IsCancellationRequested, "A client of the flood was turned away.");
    }

    private async Task SendWithoutEndAsync(Socket socket, byte[] bytes)
    {
        while (!_stop.IsCancellationRequested)
        {
            await socket.SendAsync(bytes);
        }
    }

    private async Task DropAsync(Socket socket)
    {
        byte[] room = new byte[256 * 1024];
        int count;
        while ((count = await socket.ReceiveAsync(room)) > 0)
        {
            Interlocked.Add(ref _receivedBytes, count);
        }
    }

    private async Task ReconnectAsync(Uri url, string path)
    {
        byte[] request = Encoding.ASCII.GetBytes($"GET {path} HTTP/1.1\r\nHost: flood\r\nConnection: close\r\n\r\n");
        while (!_stop.IsCancellationRequested)
        {
            using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            await socket.ConnectAsync(IPAddress.Loopback, url.Port);
            await socket.SendAsync(request);
            await DropAsync(socket);
        }
    }

    /// <summary>One connection of HTTP/2 that keeps so many HEADs in flight.</summary>
    private sealed class HeadStream(Flood flood, string path)
    {
        private const int HeaderBytes = 9;
        private const int BatchMost = 100;

        private readonly byte[] _request = RequestOf(path);
        private readonly byte[] _header = new byte[HeaderBytes];
        private int _headerBytes;
        private int _skip;
        private int _nextStream = 1;

        public async Task RunAsync(Socket socket, int inFlight)
        {
            await socket.SendAsync(Encoding.ASCII.GetBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"));
            int owed = inFlight;
            byte[] room = new byte[64 * 1024];
            while (true)
            {
                for (; owed > 0; owed -= BatchMost)
                {
                    await socket.SendAsync(Next(Math.Min(owed, BatchMost)));
                }

                int count = await socket.ReceiveAsync(room);
                if (count == 0)
                {
                    return;
                }

                Interlocked.Add(ref flood._receivedBytes, count);
                owed = CountEnds(room.AsSpan(0, count));
            }
        }

        private static byte[] RequestOf(string path)
        {
            // Literals without indexing: method, path and authority by the names of the static table, :scheme http as indexed.
            byte[] block = [2, 4, .. "HEAD"u8, 0x86, 4, (byte)path.Length, .. Encoding.ASCII.GetBytes(path), 1, 5, .. "flood"u8];
            return [0, 0, (byte)block.Length, 1, 5, 0, 0, 0, 0, .. block];
        }

        private byte[] Next(int count)
        {
            byte[] batch = new byte[count * _request.Length];
            for (int i = 0; i < count; i++)
            {
                Span<byte> request = batch.AsSpan(i * _request.Length, _request.Length);
                _request.CopyTo(request);
                BinaryPrimitives.WriteInt32BigEndian(request[5..], _nextStream);
                _nextStream += 2;
            }

            return batch;
        }

        private int CountEnds(ReadOnlySpan<byte> bytes)
        {
            int ends = 0;
            while (!bytes.IsEmpty)
            {
                int skipped = Math.Min(_skip, bytes.Length);
                _skip -= skipped;
                bytes = bytes[skipped..];
                int taken = Math.Min(HeaderBytes - _headerBytes, bytes.Length);
                bytes[..taken].CopyTo(_header.AsSpan(_headerBytes));
                _headerBytes += taken;
                bytes = bytes[taken..];
                if (_headerBytes == HeaderBytes)
                {
                    _headerBytes = 0;
                    _skip = (_header[0] << 16) | (_header[1] << 8) | _header[2];
                    Assert.True(_header[3] is 1 or 4, $"A frame of the kind {_header[3]} came.");
                    ends += _header[3] == 1 ? 1 : 0;
                }
            }

            return ends;
        }
    }
}
