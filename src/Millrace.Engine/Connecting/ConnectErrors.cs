using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Backends;
using Millrace.Interop;

namespace Millrace.Engine.Connecting;

/// <summary>
/// Creates the exceptions of failed connects: those that a <see cref="Socket"/> throws, so that one handler suits both, with a message that
/// names cause and remedy.
/// </summary>
internal static class ConnectErrors
{
    public static SocketException Of(EndPoint endPoint, int errno)
    {
        (SocketError error, string? remedy) = errno switch
        {
            Errno.ECONNREFUSED => (SocketError.ConnectionRefused, "nothing listens there, start the server or correct the address"),
            Errno.ETIMEDOUT => (SocketError.TimedOut, "the host is down, or a firewall drops what is sent to it"),
            Errno.ENETUNREACH => (SocketError.NetworkUnreachable, "there is no route, check 'ip route'"),
            Errno.EHOSTUNREACH => (SocketError.HostUnreachable, "the host is down, or a firewall refuses it"),
            Errno.EHOSTDOWN => (SocketError.HostDown, null),
            Errno.ENETDOWN => (SocketError.NetworkDown, "check 'ip link'"),
            Errno.ECONNRESET => (SocketError.ConnectionReset, "it listens, but reset the connection"),
            Errno.ECONNABORTED => (SocketError.ConnectionAborted, null),
            Errno.ENOENT => (SocketError.AddressNotAvailable, "the socket does not exist, start the server or correct the path"),
            Errno.EACCES or Errno.EPERM => (SocketError.AccessDenied, "a firewall, or the permissions of the socket's file, forbid it"),
            Errno.EADDRNOTAVAIL => (SocketError.AddressNotAvailable,
                "the address does not exist, or no port is free, reuse connections or widen net.ipv4.ip_local_port_range"),
            Errno.EAFNOSUPPORT => (SocketError.AddressFamilyNotSupported, "this machine does not support the address family"),
            Errno.EMFILE or Errno.ENFILE => (SocketError.TooManyOpenSockets, Advice.Descriptors),
            Errno.ENOBUFS or Errno.ENOMEM => (SocketError.NoBufferSpaceAvailable, "the kernel has no memory for it"),
            Errno.EINVAL => (SocketError.InvalidArgument, null),
            _ => (SocketError.SocketError, null),
        };
        return Refusal(error, endPoint, remedy is null ? Errno.Describe(errno) : $"{Errno.Describe(errno)}, {remedy}");
    }

    public static SocketException TimedOut(EndPoint endPoint, TimeSpan timeout)
    {
        string seconds = timeout.TotalSeconds.ToString("0.###", CultureInfo.InvariantCulture);
        return Refusal(SocketError.TimedOut, endPoint, $"it did not respond within {seconds} s");
    }

    private static SocketException Refusal(SocketError error, EndPoint endPoint, string reason) =>
        new((int)error, $"{endPoint} cannot be connected to: {reason}.");
}
