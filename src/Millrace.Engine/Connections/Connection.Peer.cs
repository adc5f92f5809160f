using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;

namespace Millrace.Engine;

/// <content>The peer's address, where it is stored: queried early, or announced by a proxy.</content>
public sealed partial class Connection
{
    private EndPoint? _remote;
    private EndPoint? _local;

    /// <summary>Whether a trusted proxy announced the client by the PROXY protocol.</summary>
    internal bool IsProxied { get; private set; }

    /// <summary>
    /// Stores the peer's address for later use, as the kernel forgets it with the socket. An IPv4 address of an IPv6 socket is unmapped;
    /// for an unnamed unix socket it is the listener's address.
    /// </summary>
    internal EndPoint? KeepRemoteEndPoint() =>
        _remote ??= SocketEndPoint.Unmapped(RemoteEndPoint) ?? (_listener!.EndPoint as UnixDomainSocketEndPoint);

    /// <summary>
    /// A trusted proxy has announced the client: from now on limits, logs and handlers see these addresses. False when a limit leaves no
    /// room for the client.
    /// </summary>
    internal bool TryActAs(EndPoint remote, EndPoint local)
    {
        _remote = SocketEndPoint.Unmapped(remote);
        _local = SocketEndPoint.Unmapped(local);
        IsProxied = true;
        ClientAddress? client = ClientAddress.Of(SocketEndPoint.Encode(_remote!));
        MoveTo(Reactor.Accounts.Open(client));
        _lease = Reactor.Identify(_lease, client, _listener!);
        return _lease.Admission != AdmissionResult.TurnedAway;
    }

    private void OpenPeer()
    {
        _remote = _local = null;
        IsProxied = false;
    }
}
