using System.Net;
using Millrace.Engine.Proxies;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Listening;

/// <summary>
/// An address with its sockets, of which nobody else can have it any more; connections come when a group listens on it. The sockets are
/// the holder's, who disposes of them, until then.
/// </summary>
internal sealed class BoundAddress : IDisposable
{
    private readonly ListenSettings _settings;
    private int[] _sockets;

    private BoundAddress(int[] sockets, EndPoint endPoint, SocketOwner owner, ListenSettings settings)
    {
        _sockets = sockets;
        EndPoint = endPoint;
        Owner = owner;
        _settings = settings;
    }

    /// <summary>A port asked for as 0 is the one that was given.</summary>
    public EndPoint EndPoint { get; }

    public SocketOwner Owner { get; }

    /// <inheritdoc cref="ListenSettings.Proxies"/>
    public ProxyGate? Proxies => _settings.Proxies;

    /// <summary>See <see cref="ListenerCore.FarControl"/>.</summary>
    public string? FarControl { get; private init; }

    /// <summary>Binds an address for so many reactors.</summary>
    /// <exception cref="EngineException">The address cannot be had; the message says why.</exception>
    public static BoundAddress Bind(EndPoint endPoint, int reactors, ListenSettings settings)
    {
        (int[] sockets, EndPoint actual) = ListenSockets.Open(endPoint, reactors, settings);
        return new BoundAddress(sockets, actual, SocketOwner.Listener, settings)
        {
            FarControl = settings.CongestionControl is null ? UnpacedLoopback.Arrange(sockets, actual) : null,
        };
    }

    /// <summary>The same for a socket that somebody else has bound.</summary>
    /// <exception cref="EngineException">It cannot be listened on; the message says why.</exception>
    public static BoundAddress Adopt(int descriptor, ListenSettings settings)
    {
        (int socket, EndPoint actual) = ListenSockets.Adopt(descriptor, settings);
        return new BoundAddress([socket], actual, SocketOwner.Another, settings);
    }

    /// <summary>Listens. The sockets, to which connections come now, are the caller's from here on.</summary>
    /// <exception cref="EngineException">The address is another's after all.</exception>
    public int[] Listen()
    {
        bool allowsSiblings = Owner == SocketOwner.Listener && EndPoint is IPEndPoint;
        ListenSockets.Listen(_sockets, EndPoint, _settings.Backlog, allowsSiblings);
        return Interlocked.Exchange(ref _sockets, []);
    }

    public void Dispose()
    {
        int[] sockets = Interlocked.Exchange(ref _sockets, []);
        Array.ForEach(sockets, static socket => SocketCalls.Close(socket));
        if (sockets.Length > 0 && Owner == SocketOwner.Listener && SocketEndPoint.FilePathOf(EndPoint) is { } path)
        {
            File.Delete(path);
        }
    }
}

/// <summary>Whose a listening socket is, with its queue, and a unix socket's file.</summary>
internal enum SocketOwner
{
    /// <summary>The listener's: it takes what is queued, and removes the file, at its end.</summary>
    Listener,

    /// <summary>Whoever has bound it, a service manager say: its file, and what is queued, are left for who listens there next.</summary>
    Another,
}
