using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;

namespace Millrace.Engine;

/// <content>Who is at the other end, where that is kept: it was asked for in time, or somebody in between has told it.</content>
public sealed partial class Connection
{
    private EndPoint? _remote;
    private EndPoint? _local;

    /// <summary>
    /// Keeps the peer's address, which the kernel forgets with the socket: for who tells of it later. An IPv4 address that came by an
    /// IPv6 socket is kept as what it is, and who comes by a unix socket without a name as that socket.
    /// </summary>
    internal EndPoint? KeepRemoteEndPoint() =>
        _remote ??= SocketEndPoint.Unmapped(RemoteEndPoint) ?? (_listener!.EndPoint as UnixDomainSocketEndPoint);

    /// <summary>
    /// Somebody in between who is believed has told whose connection it is: for limits, logs and handlers it is that from now on. False
    /// where a limit leaves no room for it.
    /// </summary>
    internal bool TryActAs(EndPoint remote, EndPoint local)
    {
        _remote = SocketEndPoint.Unmapped(remote);
        _local = SocketEndPoint.Unmapped(local);
        _ticket = Reactor.Identify(_ticket, ClientAddress.Of(SocketEndPoint.Encode(_remote!)), _listener!);
        return _ticket.Admission != Admission.TurnedAway;
    }

    private void OpenPeer() => _remote = _local = null;
}
