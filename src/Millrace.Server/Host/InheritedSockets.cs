using System.Globalization;
using System.Net;
using Millrace.Engine;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Listening;
using Millrace.Interop.Sockets;
using Millrace.Server.Configuration;

namespace Millrace.Server.Host;

/// <summary>
/// Sockets from a service manager (sd_listen_fds(3)): a configured address that equals one of theirs uses it, and the remaining listening
/// sockets are served by their names. Datagram sockets are for HTTP/3, and left alone without it. All stay open until the process ends, and
/// in the manager beyond that: connections wait in their queues while the next process starts.
/// </summary>
internal sealed class InheritedSockets
{
    /// <summary><c>SD_LISTEN_FDS_START</c>: lower descriptors are stdin, stdout and stderr.</summary>
    private const int FirstDescriptor = 3;

    /// <summary>More than any unit has; larger numbers are ignored.</summary>
    private const int CountMax = 4_096;

    private const string PidVariable = "LISTEN_PID";
    private const string CountVariable = "LISTEN_FDS";
    private const string NamesVariable = "LISTEN_FDNAMES";

    private readonly IReadOnlyList<InheritedSocket> _all;
    private readonly List<InheritedSocket> _left;

    public InheritedSockets(IEnumerable<InheritedSocket> sockets)
    {
        _all = [.. sockets];
        _left = [.. _all];
    }

    /// <summary>The sockets of this process: a manager passes them once, before the start.</summary>
    public static InheritedSockets OfProcess { get; } = Receive();

    /// <summary>Neither the sockets nor the variables are passed to child processes.</summary>
    private static InheritedSockets Receive()
    {
        IReadOnlyList<InheritedSocket> configured = Read(Environment.GetEnvironmentVariable, Environment.ProcessId);
        foreach (string variable in (string[])[PidVariable, CountVariable, NamesVariable])
        {
            Environment.SetEnvironmentVariable(variable, null);
        }

        return new InheritedSockets(configured.Select(static socket =>
        {
            _ = SocketCalls.SetCloseOnExec(socket.Descriptor);
            return socket with
            {
                EndPoint = SocketEndPoint.OfSocket(socket.Descriptor, out _),
                IsDatagram = SocketEndPoint.IsDatagram(socket.Descriptor),
            };
        }));
    }

    /// <summary>Reads the variables; empty if they are for another process, whose child inherited them.</summary>
    public static IReadOnlyList<InheritedSocket> Read(Func<string, string?> variable, int processId)
    {
        if (Number(variable(PidVariable)) != processId || Number(variable(CountVariable)) is not (> 0 and <= CountMax and int count))
        {
            return [];
        }

        string[] names = variable(NamesVariable)?.Split(':') ?? [];
        return [.. Enumerable.Range(0, count).Select(i => new InheritedSocket(FirstDescriptor + i, i < names.Length ? names[i] : ""))];
    }

    /// <summary>
    /// Finds the datagram socket of an address; null if none was passed. It is used again when HTTP/3 was switched off and on: it stays
    /// bound, so that no other could be.
    /// </summary>
    public InheritedSocket? FindDatagram(EndPoint address) =>
        _all.FirstOrDefault(socket => socket.IsDatagram && address.Equals(socket.EndPoint));

    /// <summary>
    /// Takes the listening socket of an address, each of several once; null if none was passed. As it stays bound, it is taken again for an
    /// address that was removed and comes back: no address is configured twice.
    /// </summary>
    public InheritedSocket? Take(EndPoint address)
    {
        InheritedSocket? found = _left.Find(IsWanted);
        if (found is not null)
        {
            _left.Remove(found);
        }

        return found ?? _all.FirstOrDefault(IsWanted);

        bool IsWanted(InheritedSocket socket) => !socket.IsDatagram && address.Equals(socket.EndPoint);
    }

    /// <summary>Binds an address, or uses the socket that was passed for it.</summary>
    /// <exception cref="EngineException">The address cannot be bound; the message says why.</exception>
    public BoundAddress Bind(EndPoint address, int reactors, ListenSettings settings) => Take(address) is { } socket
        ? BoundAddress.Acquire(socket.Descriptor, settings)
        : BoundAddress.Bind(address, reactors, settings);

    /// <summary>The same for HTTP/3: datagram sockets of an address.</summary>
    /// <exception cref="EngineException">The address cannot be bound; the message says why.</exception>
    public DatagramSockets BindDatagrams(IPEndPoint address, int reactors, DatagramSettings settings) =>
        FindDatagram(address) is { } socket
            ? DatagramSockets.Acquire(socket.Descriptor, reactors, settings)
            : DatagramSockets.Open(address, reactors, settings);

    /// <summary>The listening sockets that equal none of the configured addresses, whether taken or not.</summary>
    /// <param name="configured">All configured addresses, of any kind.</param>
    public IReadOnlyList<InheritedSocket> Besides(IEnumerable<EndPoint> configured)
    {
        List<InheritedSocket> remaining = [.. _all.Where(static socket => !socket.IsDatagram)];
        foreach (EndPoint address in configured)
        {
            int index = remaining.FindIndex(socket => address.Equals(socket.EndPoint));
            if (index >= 0)
            {
                remaining.RemoveAt(index);
            }
        }

        return remaining;
    }

    /// <summary>Adds the remaining sockets' addresses to the configured ones.</summary>
    /// <param name="options">The configured options.</param>
    /// <param name="admin">The address of the admin pages, which applies until a restart.</param>
    public ServeOptions ApplyTo(ServeOptions options, EndPoint? admin)
    {
        IEnumerable<EndPoint> configured = options.Addresses.Concat(options.Https.Addresses);
        ILookup<bool, EndPoint> addresses = Besides(admin is null ? configured : configured.Append(admin))
            .Where(static socket => socket.EndPoint is not null)
            .ToLookup(static socket => socket.IsForHttps, static socket => socket.EndPoint!);
        return options with
        {
            Addresses = [.. options.Addresses, .. addresses[false]],
            Https = options.Https with { Addresses = [.. options.Https.Addresses, .. addresses[true]] },
        };
    }

    /// <exception cref="ServiceException">One of the descriptors is not a supported listening socket.</exception>
    public void RequireSockets()
    {
        if (_all.FirstOrDefault(static socket => socket.EndPoint is null || (socket.IsDatagram && socket.EndPoint is not IPEndPoint))
            is { } unsupported)
        {
            throw new ServiceException(
                $"Descriptor {unsupported.Descriptor} ({unsupported.Name}) from the service manager cannot be listened on: "
                + "pass TCP or named unix sockets (ListenStream=), and UDP sockets for HTTP/3 (ListenDatagram=).");
        }
    }

    private static int? Number(string? text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) ? number : null;
}

/// <summary>A socket that a service manager has bound.</summary>
/// <param name="Descriptor">The descriptor, which stays the manager's: the server uses a copy.</param>
/// <param name="Name">The manager's name for it; may be empty.</param>
internal sealed record InheritedSocket(int Descriptor, string Name)
{
    /// <summary>
    /// Decided by the name if no configured address matches: systemd's FileDescriptorName=, or else the name of the socket unit.
    /// </summary>
    public bool IsForHttps => Name.Contains("https", StringComparison.OrdinalIgnoreCase);

    /// <summary>Whether it is for datagrams; otherwise it listens.</summary>
    public bool IsDatagram { get; init; }

    /// <summary>Null if the descriptor cannot be listened on.</summary>
    public EndPoint? EndPoint { get; init; }
}
