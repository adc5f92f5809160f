using System.Net.Sockets;

namespace Millrace.Interop.Sockets;

/// <summary>Says in a clause why a name cannot be resolved or an address cannot be connected to. Pure.</summary>
internal static class NetworkProblem
{
    public static string Of(SocketException refusal) => refusal.SocketErrorCode switch
    {
        SocketError.ConnectionRefused => "nothing listens there",
        SocketError.TimedOut => "the host does not answer",
        SocketError.HostUnreachable or SocketError.NetworkUnreachable => "there is no route to the host",
        SocketError.TryAgain => "no DNS server answers (see /etc/resolv.conf)",
        SocketError.HostNotFound or SocketError.NoData => "DNS does not know the name",
        SocketError.AccessDenied => "a firewall, or the permissions of the socket's file, forbid it",
        SocketError.AddressNotAvailable => "the address does not exist",
        SocketError.ConnectionReset => "it resets the connection",
        _ => refusal.Message.TrimEnd('.'),
    };
}
