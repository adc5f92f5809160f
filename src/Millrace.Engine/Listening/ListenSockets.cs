using System.Net;
using System.Net.Sockets;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Listening;

/// <summary>
/// Opens the sockets of an address to listen on: for IP one per reactor, among which the kernel spreads connections
/// (SO_REUSEPORT); for a unix socket, which cannot be sharded, a single one.
/// </summary>
internal static class ListenSockets
{
    /// <summary>Binds, and does not listen yet. The sockets are the caller's to close.</summary>
    /// <exception cref="EngineException">The address cannot be had; the message says why.</exception>
    public static (int[] Sockets, EndPoint EndPoint) Open(EndPoint endPoint, int reactors, ListenSettings settings)
    {
        bool isShardable = endPoint is IPEndPoint;
        RemoveStaleFile(endPoint);

        var sockets = new List<int>();
        try
        {
            // The first socket binds, and listens, without SO_REUSEPORT, so that an address in use is an error: two processes of one user
            // that both set it would share it silently. But it is told where another of ours has the port.
            int first = Bind(endPoint, settings, isSibling: isShardable && settings.SharesPort);
            sockets.Add(first);
            EndPoint actual = SocketEndPoint.OfSocket(first, endPoint) ?? endPoint;
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
    /// Listens on a socket that somebody else has bound: a copy of its descriptor, as the original stays its owner's.
    /// </summary>
    /// <exception cref="EngineException">It is no socket that can be listened on; the message says why.</exception>
    public static (int Socket, EndPoint EndPoint) Adopt(int descriptor, ListenSettings settings)
    {
        EndPoint? endPoint = SocketEndPoint.OfAnySocket(descriptor, out int result);
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

            // Asked here for what it says of a socket that is none to listen on.
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
    /// Another process was faster, or another listener of an address that is part of this one, or that this one is part of: to bind
    /// (SO_REUSEADDR) is no right yet.
    /// </exception>
    /// <param name="sockets">Those of one address.</param>
    /// <param name="endPoint">The address.</param>
    /// <param name="backlog">Connections that the kernel queues before they are accepted.</param>
    /// <param name="allowsSiblings">Whether the port may be shared from then on, by the other sockets and by who is told to.</param>
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

    /// <summary>Before anybody can connect, which is once it listens.</summary>
    private static void SetMode(EndPoint endPoint, UnixFileMode? mode)
    {
        if (mode is not { } wanted || SocketEndPoint.FilePathOf(endPoint) is not { } path)
        {
            return;
        }

        try
        {
#pragma warning disable CA1416 // The engine is Linux's.
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
        // Connections of an earlier process in TIME_WAIT must not keep this one from starting.
        Set(socket, endPoint, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReuseAddress, 1);
        if (endPoint.AddressFamily == AddressFamily.InterNetworkV6)
        {
            int isAlone = endPoint.Address.Equals(IPAddress.IPv6Any) ? 0 : 1;
            Set(socket, endPoint, SocketOptionNumber.LevelIPv6, SocketOptionNumber.IPv6Only, isAlone);
        }

        SetInheritedOptions(socket, endPoint, settings);
    }

    /// <summary>Accepted connections have these from their listener, which saves a system call for each.</summary>
    private static void SetInheritedOptions(int socket, EndPoint endPoint, ListenSettings settings)
    {
        Set(socket, endPoint, SocketOptionNumber.LevelTcp, SocketOptionNumber.NoDelay, settings.NoDelay ? 1 : 0);
        Set(socket, endPoint, SocketOptionNumber.LevelTcp, SocketOptionNumber.NotSentLowWater, settings.KernelUnsentBytes);
        if (settings.CongestionControl is { } name)
        {
            CongestionControl.Require(socket, name);
        }

        settings.BusyPoll.RequireOfSocket(socket);
    }

    private static void AllowSiblings(int socket, EndPoint endPoint) =>
        Set(socket, endPoint, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReusePort, 1);

    private static void Set(int socket, EndPoint endPoint, int level, int name, int value) =>
        Require(SocketCalls.SetOption(socket, level, name, value), endPoint);

    /// <summary>A unix socket's file outlives its process. One that nobody listens on any more is in the way and is removed.</summary>
    private static void RemoveStaleFile(EndPoint endPoint)
    {
        if (SocketEndPoint.FilePathOf(endPoint) is not { } path || !IsSocket(path))
        {
            return;
        }

        // Without a wait: the queue of a live one may be full.
        int probe = SocketCalls.Socket(AddressFamilyNumber.Unix, SocketTypeNumber.Stream | SocketTypeNumber.NonBlocking);
        Require(probe, endPoint);
        int result = SocketCalls.Connect(probe, SocketEndPoint.Encode(endPoint));
        _ = SocketCalls.Close(probe);
        if (result == -Errno.ECONNREFUSED)
        {
            Remove(path, endPoint);
        }
    }

    /// <summary>A connect to a file that is no socket is refused like one to a stale one: only its type tells that it is data.</summary>
    private static bool IsSocket(string path)
    {
        var how = new OpenHow { Flags = OpenFlags.Path | OpenFlags.NoFollow | OpenFlags.CloseOnExec };
        int file = FileCalls.OpenAt2(FileCalls.WorkingDirectory, CString.Of(path), how);
        if (file < 0)
        {
            return false;
        }

        int result = FileCalls.StatDescriptor(file, StatxMask.Type, out Statx statx);
        _ = FileCalls.Close(file);
        return result >= 0 && statx.Type == FileType.Socket;
    }

    private static void Remove(string path, EndPoint endPoint)
    {
        try
        {
            File.Delete(path);
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            throw new EngineException($"{endPoint} was left by a process that is gone and cannot be removed: {error.Message}", error);
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
