using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Server.Tests.Kit;

/// <summary>How the connections of a crowd come to a standstill.</summary>
public enum Stall
{
    /// <summary>A hundred requests over HTTP/2, and no window for any.</summary>
    ClosedWindows,

    /// <summary>The same; now a stream's window is opened by a byte, now the connection's.</summary>
    WindowsByIterations,

    /// <summary>All windows are open, and nothing is read from the socket.</summary>
    UnreadSocket,

    /// <summary>A field block that has no end.</summary>
    HalfFieldBlock,

    /// <summary>A frame that is not complete.</summary>
    HalfFrame,

    /// <summary>A head of HTTP/1.1 that has no end.</summary>
    HalfHead,

    /// <summary>Five hundred pipelined requests, whose answers are not read.</summary>
    UnreadPipeline,

    /// <summary>A body of HTTP/1.1 that has no end.</summary>
    HalfBody,

    /// <summary>A hundred bodies over HTTP/2 that have no end.</summary>
    HalfBodies,

    /// <summary>A ClientHello that is not whole.</summary>
    HalfHello,

    /// <summary>A whole ClientHello, which is answered.</summary>
    SilentHandshake,
}

/// <summary>Many connections from one address that send the same, hold still, and end by a reset.</summary>
internal sealed class Crowd : IDisposable
{
    private const int Streams = 100;
    private const int AtATime = 32;

    /// <summary><c>IPPROTO_IP</c> and <c>IP_BIND_ADDRESS_NO_PORT</c>.</summary>
    private const int IpLevel = 0;
    private const int BindAddressNoPort = 24;

    private readonly List<Socket> _sockets = [];
    private readonly Lock _lock = new();

    /// <summary>Connections that were made.</summary>
    public int Count => _sockets.Count;

    public static async Task<Crowd> GatherAsync(Uri server, string from, int count, byte[] sent)
    {
        var crowd = new Crowd();
        var target = new IPEndPoint(IPAddress.Loopback, server.Port);
        await Parallel.ForAsync(0, count, new ParallelOptions { MaxDegreeOfParallelism = AtATime }, async (_, _) =>
        {
            Socket? socket = null;
            try
            {
                socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)
                {
                    ReceiveBufferSize = 4096,
                    LingerState = new LingerOption(enable: true, 0),
                };
                // The port is found by the connect, for which those of connections that have ended will do.
                socket.SetRawSocketOption(IpLevel, BindAddressNoPort, [1, 0, 0, 0]);
                socket.Bind(new IPEndPoint(IPAddress.Parse(from), 0));
                using var patience = new CancellationTokenSource(TimeSpan.FromSeconds(10));
                await socket.ConnectAsync(target, patience.Token);
                socket.Blocking = false;
                _ = socket.Send(sent, SocketFlags.None, out SocketError _);
                lock (crowd._lock)
                {
                    crowd._sockets.Add(socket);
                }
            }
            catch (Exception refused) when (refused is SocketException or OperationCanceledException)
            {
                socket?.Dispose();
            }
        });
        return crowd;
    }

    /// <summary>Sends more on every connection, as far as it is taken.</summary>
    public void Send(byte[] more)
    {
        foreach (Socket socket in _sockets)
        {
            _ = socket.Send(more, SocketFlags.None, out SocketError _);
        }
    }

    public void Dispose() => _sockets.ForEach(static socket => socket.Dispose());

    /// <summary>What a connection that stalls so sends.</summary>
    public static byte[] SentFor(Stall stall, string path) => stall switch
    {
        Stall.ClosedWindows => [.. Preface(window: 0), .. Requests(path)],
        Stall.WindowsByIterations => [.. Preface(window: 1), .. Requests(path)],
        Stall.UnreadSocket => [.. Preface(window: int.MaxValue), .. WindowUpdate(0, int.MaxValue - 65_535), .. Requests(path)],
        Stall.HalfFieldBlock => [.. Preface(65_535), .. Frame(1, 1, 1, Get(path)), .. Frame(9, 0, 1, new byte[16_000])],
        Stall.HalfFrame => [.. Preface(65_535), .. Frame(1, 5, 1, new byte[16_384])[..^1]],
        Stall.HalfHead => Encoding.ASCII.GetBytes($"GET {path} HTTP/1.1\r\nHost: a\r\nX: {new string('x', 30_000)}"),
        Stall.UnreadPipeline => Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat($"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n", 500))),
        Stall.HalfBody => Encoding.ASCII.GetBytes($"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n{new string('b', 30_000)}"),
        Stall.HalfBodies =>
            [.. Preface(0), .. Each(id => [.. Frame(1, 4, id, Get(path)), .. Frame(0, 0, id, new byte[100])])],
        Stall.HalfHello => ClientHello.Bytes[..^1],
        Stall.SilentHandshake => ClientHello.Bytes,
        _ => throw new ArgumentOutOfRangeException(nameof(stall)),
    };

    /// <summary>Whether it is one of HTTPS.</summary>
    public static bool IsOfTls(Stall stall) => stall is Stall.HalfHello or Stall.SilentHandshake;

    /// <summary>A byte for the stream or for the connection.</summary>
    public static byte[] SentLaterFor(Stall stall, int iteration) =>
        stall == Stall.WindowsByIterations ? WindowUpdate(iteration % 2 == 0 ? 1 : 0, 1) : [];

    public static byte[] Preface(int window)
    {
        byte[] setting = [0, 4, 0, 0, 0, 0];
        BinaryPrimitives.WriteInt32BigEndian(setting.AsSpan(2), window);
        return [.. "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8, .. Frame(4, 0, 0, setting)];
    }

    public static byte[] Requests(string path) => Each(id => Frame(1, 5, id, Get(path)));

    private static byte[] Each(Func<int, byte[]> frames) => [.. Enumerable.Range(0, Streams).SelectMany(i => frames((2 * i) + 1))];

    private static byte[] WindowUpdate(int stream, int bytes)
    {
        byte[] increment = new byte[4];
        BinaryPrimitives.WriteInt32BigEndian(increment, bytes);
        return Frame(8, 0, stream, increment);
    }

    /// <summary>:method GET, :scheme http, :path, :authority a (RFC 7541, appendix A).</summary>
    private static byte[] Get(string path) => [0x82, 0x86, 0x04, (byte)path.Length, .. Encoding.ASCII.GetBytes(path), 0x41, 1, (byte)'a'];

    private static byte[] Frame(byte type, byte flags, int stream, byte[] payload)
    {
        byte[] frame = new byte[9 + payload.Length];
        (frame[0], frame[1], frame[2]) = ((byte)(payload.Length >> 16), (byte)(payload.Length >> 8), (byte)payload.Length);
        (frame[3], frame[4]) = (type, flags);
        BinaryPrimitives.WriteInt32BigEndian(frame.AsSpan(5), stream);
        payload.CopyTo(frame, 9);
        return frame;
    }
}
