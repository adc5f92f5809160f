using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Server.AccessLog;
using Millrace.Server.AccessLog.Sinks;
using Millrace.Server.Options;

namespace Millrace.Server.Commands;

/// <summary>Where a server would write and bind, looked at and left as it is: files of logs, sockets and what they are given.</summary>
internal static class PlaceCheck
{
    /// <summary>What a server would refuse to start for.</summary>
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
            yield return $"{twice} is listened on twice: name it once, for HTTP, HTTPS or the admin pages.";
        }

        if (options.ListensOnTcp && options.Engine.CongestionControl is { } control && CongestionControl.RefusalOf(control) is { } reason)
        {
            yield return reason;
        }

        if (options.Engine.BusyPoll.Refusal(options.ListensOnTcp) is { } obstacle)
        {
            yield return obstacle;
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

        if (ParentFolder.MayMake(path) is < 0 and int error)
        {
            return $"No socket can be made in '{ParentFolder.Of(path)}': {Errno.Describe(error)}.";
        }

        // A socket there may be a running server's, or one that is gone: the engine tells them apart as it binds.
        return FileCalls.StatPath(FileCalls.WorkingDirectory, CString.Of(path), StatxMask.Type, out Statx there) >= 0
            && there.Type != FileType.Socket
                ? $"'{path}' is no socket and would be in the way of one: remove it, or name another."
                : null;
    }
}
