using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Server.AccessLog;
using Millrace.Server.AccessLog.Sinks;
using Millrace.Server.Configuration;

namespace Millrace.Server.Commands;

/// <summary>
/// Checks the paths that a server would write or bind, without changing anything: log files, unix sockets and their modes.
/// </summary>
internal static class OutputPathCheck
{
    /// <summary>Errors that would prevent a server from starting.</summary>
    public static IEnumerable<string> RefusalsOf(ServeOptions options)
    {
        if (options.AccessLog.Destination is { } destination)
        {
            using ILogSink sink = LogDestination.Of(destination);
            if (sink.Try() is < 0 and int error)
            {
                yield return $"The access log cannot be opened at {sink.Name}: {Errno.Describe(error)}.";
            }
        }

        if (options.Https is { KeyLog: { } secrets, Addresses.Count: > 0 })
        {
            using var file = new FileSink(secrets);
            if (file.Try() is < 0 and int error)
            {
                yield return $"The file for TLS secrets '{secrets}' cannot be written: {Errno.Describe(error)}.";
            }
        }

        EndPoint[] addresses =
            [.. options.Https.Addresses, .. options.Addresses, .. options.Admin.Address is { } admin ? (EndPoint[])[admin] : []];
        foreach (EndPoint twice in addresses.Where(static address => address is not IPEndPoint { Port: 0 })
            .GroupBy(static address => address).Where(static same => same.Count() > 1).Select(static same => same.Key))
        {
            yield return $"{twice} is configured twice: use it once, for HTTP, HTTPS or the admin pages.";
        }

        if (options.ListensOnTcp && options.Engine.CongestionControl is { } control && CongestionControl.RefusalOf(control) is { } reason)
        {
            yield return reason;
        }

        foreach (string refusal in addresses.OfType<UnixDomainSocketEndPoint>().Select(RefusalOf).OfType<string>())
        {
            yield return refusal;
        }
    }

    private static string? RefusalOf(UnixDomainSocketEndPoint socket)
    {
        if (SocketEndPoint.FilePathOf(socket) is not { } path)
        {
            return null;
        }

        if (ParentDirectory.MayMake(path) is < 0 and int error)
        {
            return $"No socket can be created in '{ParentDirectory.Of(path)}': {Errno.Describe(error)}.";
        }

        // An existing socket may belong to a running server or be stale: the engine distinguishes them when it binds.
        return FileCalls.StatPath(FileCalls.WorkingDirectory, CString.Of(path), StatxMask.Type, out Statx there) >= 0
            && there.Type != FileType.Socket
                ? $"'{path}' exists and is not a socket: remove it, or choose another path."
                : null;
    }
}
