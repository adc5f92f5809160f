using System.Net;
using Millrace.Engine.Filters;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Listening;

/// <summary>
/// An address with its bound sockets, which reserves it; connections arrive after a group listens on it. Owns the sockets until
/// <see cref="Listen"/>.
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

    /// <summary>The address as bound: port 0 is replaced by the assigned port.</summary>
    public EndPoint EndPoint { get; }

    public SocketOwner Owner { get; }

    /// <inheritdoc cref="ListenSettings.Proxies"/>
    public ProxyPolicy? Proxies => _settings.Proxies;

    /// <summary>Binds an address for this number of reactors.</summary>
    /// <exception cref="EngineException">The address is not available; the message says why.</exception>
    public static BoundAddress Bind(EndPoint endPoint, int reactors, ListenSettings settings)
    {
        (int[] sockets, EndPoint actual) = ListenSockets.Open(endPoint, reactors, settings);
        return new BoundAddress(sockets, actual, SocketOwner.Listener, settings);
    }

    /// <summary>As above, for a socket that another process has bound.</summary>
    /// <exception cref="EngineException">It cannot be listened on; the message says why.</exception>
    public static BoundAddress Acquire(int descriptor, ListenSettings settings)
    {
        (int socket, EndPoint actual) = ListenSockets.Acquire(descriptor, settings);
        return new BoundAddress([socket], actual, SocketOwner.Another, settings);
    }

    /// <summary>Listens, and transfers the sockets to the caller.</summary>
    /// <exception cref="EngineException">Another process has taken the address.</exception>
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

/// <summary>Who owns a listening socket, with its queue and a unix socket's file.</summary>
internal enum SocketOwner
{
    /// <summary>The listener: when it stops it serves the queue and removes the file.</summary>
    Listener,

    /// <summary>The process that has bound it (a service manager, for example): file and queue are left to the next user.</summary>
    Another,
}

/// <summary>The settings of one listener besides its address.</summary>
/// <param name="Backlog">Connections that the kernel queues before they are accepted.</param>
/// <param name="NoDelay">Whether small pieces are sent at once (TCP_NODELAY).</param>
/// <param name="KernelUnsentBytes">See <see cref="Limits.KernelUnsentBytes"/>.</param>
internal sealed record ListenSettings(int Backlog, bool NoDelay, int KernelUnsentBytes)
{
    /// <summary>Set where connections arrive through proxies that announce the client; null otherwise.</summary>
    public ProxyPolicy? Proxies { get; init; }

    /// <summary>The mode of a unix socket's file; null for what the process's umask leaves.</summary>
    public UnixFileMode? SocketMode { get; init; }

    /// <summary>Whether another listener of this process is known to use the port, on overlapping addresses.</summary>
    public bool SharesPort { get; init; }

    /// <inheritdoc cref="EngineOptions.CongestionControl"/>
    public string? CongestionControl { get; init; }

    public static ListenSettings Of(EngineOptions options) =>
        Of(options.Limits) with { CongestionControl = options.CongestionControl };

    public static ListenSettings Of(Limits limits) => new(limits.Backlog, NoDelay: true, limits.KernelUnsentBytes);
}
