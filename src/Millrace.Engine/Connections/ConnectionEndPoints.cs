using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Connections;

/// <summary>A connection's addresses: the socket's, queried when they are needed, or announced by a proxy. Reactor thread.</summary>
internal sealed class ConnectionEndPoints(Connection connection)
{
    private EndPoint? _remote;
    private EndPoint? _local;

    public EndPoint? Remote => !IsOpen ? null : _remote ?? SocketEndPoint.OfPeer(connection.Descriptor);

    public EndPoint? Local => !IsOpen ? null
        : _local ?? (Listener.IsOneAddress ? Listener.EndPoint : SocketEndPoint.OfSocket(connection.Descriptor, out _));

    /// <summary>Whether a trusted proxy announced the client by the PROXY protocol.</summary>
    public bool IsProxied { get; private set; }

    private bool IsOpen
    {
        get
        {
            connection.Reactor.AssertReactorThread();
            return connection.IsOpen;
        }
    }

    private ListenerContext Listener => connection.Listener;

    public void Reset()
    {
        _remote = _local = null;
        IsProxied = false;
    }

    public EndPoint? KeepRemote() =>
        _remote ??= SocketEndPoint.Unmapped(Remote) ?? (Listener.EndPoint as UnixDomainSocketEndPoint);

    /// <summary>
    /// A trusted proxy has announced the client: from now on limits, logs and handlers see these addresses. False when a limit leaves no
    /// room for the client.
    /// </summary>
    public bool TryAnnounce(EndPoint remote, EndPoint local)
    {
        _remote = SocketEndPoint.Unmapped(remote);
        _local = SocketEndPoint.Unmapped(local);
        IsProxied = true;
        return connection.Holdings.TryAssignClient(ClientAddress.Of(SocketEndPoint.Encode(_remote!)), Listener);
    }
}
