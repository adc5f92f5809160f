using System.Net.Sockets;

namespace Millrace.Idle;

/// <summary>A connection that does a little once a second, until the server ends it.</summary>
internal abstract class SlowPeer(Socket socket) : IDisposable
{
    protected Socket Socket { get; } = socket;

    public bool HasEnded { get; private set; }

    /// <summary>This second's little.</summary>
    public void Act()
    {
        if (!HasEnded)
        {
            HasEnded = Try() is not (SocketError.Success or SocketError.WouldBlock);
        }
    }

    public void Dispose() => Socket.Dispose();

    /// <summary>Success or WouldBlock while the connection lives.</summary>
    protected abstract SocketError Try();

    protected SocketError Receive(int bytesMax)
    {
        Span<byte> bytes = stackalloc byte[bytesMax];
        int read = Socket.Receive(bytes, SocketFlags.None, out SocketError error);
        return error == SocketError.Success && read == 0 ? SocketError.Disconnecting : error;
    }
}

/// <summary>Takes 1 KB a second of a file of 1 MB.</summary>
internal sealed class SlowReader : SlowPeer
{
    public SlowReader(int port)
        : base(Loopback.Connect(port, receiveBytes: 4096))
    {
        Socket.Send("GET /large.bin HTTP/1.1\r\nHost: idle\r\n\r\n"u8);
        Socket.Blocking = false;
    }

    protected override SocketError Try() => Receive(1024);
}

/// <summary>Sends one byte a second of a head that never ends.</summary>
internal sealed class SlowSender : SlowPeer
{
    private static readonly byte[] Start = "GET / HTTP/1.1\r\nHost: idle\r\nX-Slow: "u8.ToArray();

    private int _sent;

    public SlowSender(int port)
        : base(Loopback.Connect(port))
    {
        Socket.Blocking = false;
    }

    protected override SocketError Try()
    {
        byte next = _sent < Start.Length ? Start[_sent] : (byte)'x';
        _sent++;
        Socket.Send([next], SocketFlags.None, out SocketError sending);

        // An answer (408) and the end behind it both show when reading.
        SocketError receiving = Receive(1024);
        return sending is SocketError.Success or SocketError.WouldBlock ? receiving : sending;
    }
}
