using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Connecting;
using Millrace.Engine.Filters;

namespace Millrace.Engine.Listening;

/// <summary>
/// What the connections of one listener share, or the settings of one outbound connection. Immutable; shared by all reactors.
/// </summary>
internal sealed class ListenerContext(
    EndPoint endPoint,
    ConnectionHandler handler,
    Func<Connection, IReadOnlyList<ConnectionFilter>>? filters,
    ConnectionHandler? refusal = null)
{
    /// <summary>
    /// Bytes of one send over a unix socket. Such a socket reports only its queue length (SIOCOUTQ), and the kernel refills the queue from
    /// a longer send as it drains, so that a slow reader looks like a stopped one. This many bytes fit a queue that was drained to a
    /// quarter, which is when the kernel reports it writable (net.core.wmem_default: 208 KiB): within one send the queue only shrinks, and
    /// completions show the rest of the progress.
    /// </summary>
    private const int UnixSendBytesMax = 64 * 1024;

    public EndPoint EndPoint { get; } = endPoint;

    public ConnectionHandler Handler { get; } = handler;

    /// <summary>Serves connections beyond a limit; null for a reset.</summary>
    public ConnectionHandler? Refusal { get; } = refusal;

    /// <summary>Makes a connection's filters, the first next to the socket; null for none.</summary>
    public Func<Connection, IReadOnlyList<ConnectionFilter>>? Filters { get; } = filters;

    public SocketOwner Owner { get; init; }

    /// <summary>Whether its one connection was opened from here: the peer is a server that was chosen, not any client.</summary>
    public bool IsOutbound { get; init; }

    /// <summary>Notified of the end of its one connection; null for a listener's.</summary>
    public OutboundStart? Start { get; init; }

    /// <summary>Whether its clients have addresses by which their connections are counted.</summary>
    public bool HasClientAddresses { get; } = endPoint.AddressFamily != AddressFamily.Unix;

    /// <summary>Whether a proxy announces the client in the first bytes; the connection is counted for it from then on.</summary>
    public bool ClientsAreReported { get; init; }

    /// <summary>Whether all clients connect to the address listened on; a wildcard address has several.</summary>
    public bool IsOneAddress { get; init; } = !SocketEndPoint.IsAny(endPoint);

    /// <summary>
    /// Whether its sockets take file pages by reference: TCP does; a unix socket is sent copies of limited size. Not for outbound sockets,
    /// which are blocking: sendfile would wait on them.
    /// </summary>
    public bool TakesPages { get; init; } = endPoint is IPEndPoint;

    public long SendBytesMax { get; } = endPoint.AddressFamily == AddressFamily.Unix ? UnixSendBytesMax : long.MaxValue;
}
