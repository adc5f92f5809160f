using System.Net;
using System.Net.Sockets;

namespace Millrace.HttpServer.Tests.Upstreams.Kit;

/// <summary>An upstream of raw sockets, whose every byte the test sends. Bounded by a deadline.</summary>
internal sealed class RawUpstream : IDisposable
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private readonly List<UpstreamWire> _wires = [];
    private Socket _listener;

    private RawUpstream(Socket listener) => _listener = listener;

    public string Target { get; private init; } = "";

    public EndPoint EndPoint { get; private init; } = new IPEndPoint(0, 0);

    public static RawUpstream Start(string? socketPath = null)
    {
        EndPoint endPoint = socketPath is null ? new IPEndPoint(IPAddress.Loopback, 0) : new UnixDomainSocketEndPoint(socketPath);
        Socket listener = Listen(endPoint);
        endPoint = listener.LocalEndPoint!;
        return new RawUpstream(listener)
        {
            Target = socketPath is null ? $"http://{endPoint}" : $"unix:{socketPath}",
            EndPoint = endPoint,
        };
    }

    /// <summary>An address at which nothing listens.</summary>
    public static string RefusingTarget()
    {
        using RawUpstream gone = Start();
        return gone.Target;
    }

    public async Task<UpstreamWire> AcceptAsync()
    {
        using var deadline = new CancellationTokenSource(Deadline);
        var wire = new UpstreamWire(await _listener.AcceptAsync(deadline.Token));
        lock (_wires)
        {
            _wires.Add(wire);
        }

        return wire;
    }

    /// <summary>Whether a connection was made that no test has accepted.</summary>
    public bool HasPending => _listener.Poll(0, SelectMode.SelectRead);

    public void StopListening() => _listener.Dispose();

    public void ListenAgain() => _listener = Listen(EndPoint);

    public void Dispose()
    {
        _listener.Dispose();
        _wires.ForEach(static wire => wire.Dispose());
    }

    private static Socket Listen(EndPoint endPoint)
    {
        var listener = new Socket(
            endPoint.AddressFamily, SocketType.Stream, endPoint is IPEndPoint ? ProtocolType.Tcp : ProtocolType.Unspecified);
        if (endPoint is IPEndPoint)
        {
            listener.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.ReuseAddress, true);
        }

        listener.Bind(endPoint);
        listener.Listen(512);
        return listener;
    }
}
