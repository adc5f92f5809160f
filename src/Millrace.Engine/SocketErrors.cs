using System.Net.Sockets;
using Millrace.Interop;

namespace Millrace.Engine;

/// <summary>The error that a <see cref="Socket"/> reports for an errno, so that one handler suits both. Pure.</summary>
internal static class SocketErrors
{
    public static SocketError Of(int errno) => errno switch
    {
        Errno.ECONNREFUSED => SocketError.ConnectionRefused,
        Errno.ETIMEDOUT => SocketError.TimedOut,
        Errno.ENETUNREACH => SocketError.NetworkUnreachable,
        Errno.EHOSTUNREACH => SocketError.HostUnreachable,
        Errno.EHOSTDOWN => SocketError.HostDown,
        Errno.ENETDOWN => SocketError.NetworkDown,
        Errno.ECONNRESET => SocketError.ConnectionReset,
        Errno.ECONNABORTED => SocketError.ConnectionAborted,
        Errno.EACCES or Errno.EPERM => SocketError.AccessDenied,
        Errno.ENOENT or Errno.EADDRNOTAVAIL => SocketError.AddressNotAvailable,
        Errno.EAFNOSUPPORT => SocketError.AddressFamilyNotSupported,
        Errno.EMFILE or Errno.ENFILE => SocketError.TooManyOpenSockets,
        Errno.ENOBUFS or Errno.ENOMEM => SocketError.NoBufferSpaceAvailable,
        Errno.EINVAL => SocketError.InvalidArgument,
        _ => SocketError.SocketError,
    };
}
