using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Stages;

namespace Millrace.Engine.Listening;

/// <summary>
/// What the connections of one listener have in common, or what one that was made here has of its own. Immutable; shared by all reactors.
/// </summary>
internal sealed class ListenerCore(
    EndPoint endPoint,
    ConnectionHandler handler,
    Func<Connection, IReadOnlyList<ConnectionStage>>? stages,
    ConnectionHandler? refusal = null)
{
    /// <summary>
    /// Bytes of one send over a unix socket. Such a socket tells only how long its queue is (SIOCOUTQ), and a longer send is refilled by
    /// the kernel as the queue drains, so that a slow reader looks like a stopped one. So much fits a queue that was drained to
    /// a quarter, as it is when the kernel calls it writable (net.core.wmem_default: 208 KiB): within one send the queue only falls,
    /// and its completions show the rest.
    /// </summary>
    private const int UnixSendBytesMax = 64 * 1024;

    public EndPoint EndPoint { get; } = endPoint;

    public ConnectionHandler Handler { get; } = handler;

    /// <summary>Answers connections beyond a limit; null for a reset.</summary>
    public ConnectionHandler? Refusal { get; } = refusal;

    /// <summary>Makes a connection's stages, the first next to the socket; null for none.</summary>
    public Func<Connection, IReadOnlyList<ConnectionStage>>? Stages { get; } = stages;

    public SocketOwner Owner { get; init; }

    /// <summary>Whether its clients have addresses to count their connections by.</summary>
    public bool HasClientAddresses { get; } = endPoint.AddressFamily != AddressFamily.Unix;

    /// <summary>
    /// The congestion control of connections from other machines, where the listener's own is for those of this one
    /// (<see cref="UnpacedLoopback"/>); null where all have the listener's.
    /// </summary>
    public string? FarControl { get; init; }

    /// <summary>Whether it is told only by their first bytes who they are: they are counted by then.</summary>
    public bool ClientsAreTold { get; init; }

    /// <summary>Whether all connect to the very address that is listened on; to "any" they come by several.</summary>
    public bool IsOneAddress { get; init; } = !SocketEndPoint.IsAny(endPoint);

    /// <summary>
    /// Whether its sockets take pages of files by reference: TCP does, a unix socket is sent to by bounded copies. Those that were
    /// connected from here are blocking, and sendfile would wait on them.
    /// </summary>
    public bool TakesPages { get; init; } = endPoint is IPEndPoint;

    /// <summary>Bytes handed to the kernel in one send.</summary>
    public long SendBytesMax { get; } = endPoint.AddressFamily == AddressFamily.Unix ? UnixSendBytesMax : long.MaxValue;
}
