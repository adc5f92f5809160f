using System.Net;
using System.Net.Sockets;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Listening;

/// <summary>
/// Opens the sockets of a listening address: for IP one per reactor, among which the kernel distributes connections (SO_REUSEPORT); for a
/// unix socket, which cannot be sharded, one.
/// </summary>
internal static class ListenSockets
{
    /// <summary>Binds without listening. The caller owns the sockets.</summary>
    /// <exception cref="EngineException">The address is not available; the message says why.</exception>
    public static (int[] Sockets, EndPoint EndPoint) Open(EndPoint endPoint, int reactors, ListenSettings settings)
    {
        bool isShardable = endPoint is IPEndPoint;
        RemoveStaleFile(endPoint);

        var sockets = new List<int>();
        try
        {
            // The first socket binds and listens without SO_REUSEPORT, so that an address in use is an error: two processes of one user
            // that both set it would share the port silently. Not so where another listener of this process is known to use the port.
            int first = Bind(endPoint, settings, isSibling: isShardable && settings.SharesPort);
            sockets.Add(first);
            EndPoint actual = SocketEndPoint.OfSocket(first, out _) ?? endPoint;
            while (isShardable && sockets.Count < reactors)
            {
                sockets.Add(Bind(actual, settings, isSibling: true));
            }

            return ([.. sockets], actual);
        }
        catch
        {
            sockets.ForEach(static socket => SocketCalls.Close(socket));
            throw;
        }
    }

    /// <summary>
    /// Listens on a duplicate of a socket that another process has bound; the original stays with its owner.
    /// </summary>
    /// <exception cref="EngineException">It is not a socket that can listen; the message says why.</exception>
    public static (int Socket, EndPoint EndPoint) Acquire(int descriptor, ListenSettings settings)
    {
        EndPoint? endPoint = SocketEndPoint.OfSocket(descriptor, out int result);
        if (endPoint is null)
        {
            string reason = result < 0 ? Errno.Describe(result) : "it is neither an IP nor a named unix socket";
            throw new EngineException($"Descriptor {descriptor} cannot be listened on: {reason}.");
        }

        int socket = SocketCalls.Duplicate(descriptor);
        Require(socket, endPoint);
        try
        {
            if (endPoint is IPEndPoint)
            {
                SetInheritedOptions(socket, endPoint, settings);
            }

            // Called here for its error on a socket that cannot listen.
            Require(SocketCalls.Listen(socket, settings.Backlog), endPoint);
            return (socket, endPoint);
        }
        catch
        {
            _ = SocketCalls.Close(socket);
            throw;
        }
    }

    /// <exception cref="EngineException">
    /// Another process was faster, or another listener has an overlapping address: a successful bind with SO_REUSEADDR reserves nothing
    /// yet.
    /// </exception>
    /// <param name="sockets">Those of one address.</param>
    /// <param name="endPoint">The address.</param>
    /// <param name="backlog">Connections that the kernel queues before they are accepted.</param>
    /// <param name="allowsSiblings">Whether the other sockets, and listeners with SharesPort, may share the port from then on.</param>
    public static void Listen(ReadOnlySpan<int> sockets, EndPoint endPoint, int backlog, bool allowsSiblings)
    {
        Require(SocketCalls.Listen(sockets[0], backlog), endPoint);
        if (allowsSiblings)
        {
            AllowSiblings(sockets[0], endPoint);
        }

        foreach (int sibling in sockets[1..])
        {
            Require(SocketCalls.Listen(sibling, backlog), endPoint);
        }
    }

    private static int Bind(EndPoint endPoint, ListenSettings settings, bool isSibling)
    {
        int socket = SocketCalls.Socket(SocketEndPoint.Family(endPoint), SocketTypeNumber.Stream);
        Require(socket, endPoint);
        try
        {
            if (endPoint is IPEndPoint ip)
            {
                SetTcpOptions(socket, ip, settings);
            }

            if (isSibling)
            {
                AllowSiblings(socket, endPoint);
            }

            Require(SocketCalls.Bind(socket, SocketEndPoint.Encode(endPoint)), endPoint);
            SetMode(endPoint, settings.SocketMode);
            return socket;
        }
        catch
        {
            _ = SocketCalls.Close(socket);
            throw;
        }
    }

    /// <summary>Called before the socket listens, so before any client can connect.</summary>
    private static void SetMode(EndPoint endPoint, UnixFileMode? mode)
    {
        if (mode is not { } wanted || SocketEndPoint.FilePathOf(endPoint) is not { } path)
        {
            return;
        }

        try
        {
#pragma warning disable CA1416 // The engine runs on Linux only.
            File.SetUnixFileMode(path, wanted);
#pragma warning restore CA1416
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            throw new EngineException($"The mode of {endPoint} cannot be set: {error.Message}", error);
        }
    }

    private static void SetTcpOptions(int socket, IPEndPoint endPoint, ListenSettings settings)
    {
        // Connections of an earlier process in TIME_WAIT must not prevent the start.
        Set(socket, endPoint, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReuseAddress, 1);
        if (endPoint.AddressFamily == AddressFamily.InterNetworkV6)
        {
            int isIPv6Only = endPoint.Address.Equals(IPAddress.IPv6Any) ? 0 : 1;
            Set(socket, endPoint, SocketOptionNumber.LevelIPv6, SocketOptionNumber.IPv6Only, isIPv6Only);
        }

        SetInheritedOptions(socket, endPoint, settings);
    }

    /// <summary>Accepted connections inherit these from their listener, which saves system calls for each.</summary>
    private static void SetInheritedOptions(int socket, EndPoint endPoint, ListenSettings settings)
    {
        Set(socket, endPoint, SocketOptionNumber.LevelTcp, SocketOptionNumber.NoDelay, settings.NoDelay ? 1 : 0);
        Set(socket, endPoint, SocketOptionNumber.LevelTcp, SocketOptionNumber.NotSentLowWater, settings.KernelUnsentBytes);
        if (settings.CongestionControl is { } name)
        {
            CongestionControl.Require(socket, name);
        }
    }

    private static void AllowSiblings(int socket, EndPoint endPoint) =>
        Set(socket, endPoint, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReusePort, 1);

    private static void Set(int socket, EndPoint endPoint, int level, int name, int value) =>
        Require(SocketCalls.SetOption(socket, level, name, value), endPoint);

    /// <summary>Removes a unix socket's file, which outlives its process, if nothing listens on it any more.</summary>
    private static void RemoveStaleFile(EndPoint endPoint)
    {
        if (SocketEndPoint.FilePathOf(endPoint) is not { } path || !IsSocket(path))
        {
            return;
        }

        // Non-blocking: the queue of a live one may be full.
        int probe = SocketCalls.Socket(AddressFamilyNumber.Unix, SocketTypeNumber.Stream | SocketTypeNumber.NonBlocking);
        Require(probe, endPoint);
        int result = SocketCalls.Connect(probe, SocketEndPoint.Encode(endPoint));
        _ = SocketCalls.Close(probe);
        if (result == -Errno.ECONNREFUSED)
        {
            Remove(path, endPoint);
        }
    }

    /// <summary>A connect to a regular file is refused like one to a stale socket: only its type shows that it is data.</summary>
    private static bool IsSocket(string path) =>
        FileCalls.StatEntry(FileCalls.WorkingDirectory, CString.Of(path), StatxMask.Type, out Statx statx) >= 0
        && statx.Type == FileType.Socket;

    private static void Remove(string path, EndPoint endPoint)
    {
        try
        {
            File.Delete(path);
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            throw new EngineException($"{endPoint} is a socket file of an ended process and cannot be removed: {error.Message}", error);
        }
    }

    private static void Require(int result, EndPoint endPoint)
    {
        if (result < 0)
        {
            throw SocketEndPoint.Refusal(endPoint, -result);
        }
    }
}
