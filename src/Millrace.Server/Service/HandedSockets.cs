using System.Globalization;
using System.Net;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Interop.Sockets;
using Millrace.Server.Options;

namespace Millrace.Server.Service;

/// <summary>
/// Sockets that a service manager has bound and hands over (sd_listen_fds(3)): an address that is asked for and equals one of theirs takes
/// it, and the others are listened on by their names. They stay open until the process ends, and the manager's beyond: connections wait in
/// their queues while the next process starts.
/// </summary>
internal sealed class HandedSockets
{
    /// <summary><c>SD_LISTEN_FDS_START</c>: those before it are stdin, stdout and stderr.</summary>
    private const int FirstDescriptor = 3;

    /// <summary>More than any unit has; a number out of its senses is not believed.</summary>
    private const int CountMax = 4_096;

    private const string PidVariable = "LISTEN_PID";
    private const string CountVariable = "LISTEN_FDS";
    private const string NamesVariable = "LISTEN_FDNAMES";

    private readonly IReadOnlyList<HandedSocket> _all;
    private readonly List<HandedSocket> _left;

    public HandedSockets(IEnumerable<HandedSocket> sockets)
    {
        _all = [.. sockets];
        _left = [.. _all];
    }

    /// <summary>Those of this process: a manager hands over once, before it starts.</summary>
    public static HandedSockets OfProcess { get; } = Receive();

    /// <summary>Neither they nor what told of them reach a process that this one starts.</summary>
    private static HandedSockets Receive()
    {
        IReadOnlyList<HandedSocket> told = Read(Environment.GetEnvironmentVariable, Environment.ProcessId);
        foreach (string variable in (string[])[PidVariable, CountVariable, NamesVariable])
        {
            Environment.SetEnvironmentVariable(variable, null);
        }

        return new HandedSockets(told.Select(static socket =>
        {
            _ = SocketCalls.SetCloseOnExec(socket.Descriptor);
            return socket with { EndPoint = SocketEndPoint.OfAnySocket(socket.Descriptor, out _) };
        }));
    }

    /// <summary>What the variables tell; nothing where they are meant for another process, which has left them to its child.</summary>
    public static IReadOnlyList<HandedSocket> Read(Func<string, string?> variable, int processId)
    {
        if (Number(variable(PidVariable)) != processId || Number(variable(CountVariable)) is not (> 0 and <= CountMax and int count))
        {
            return [];
        }

        string[] names = variable(NamesVariable)?.Split(':') ?? [];
        return [.. Enumerable.Range(0, count).Select(i => new HandedSocket(FirstDescriptor + i, i < names.Length ? names[i] : ""))];
    }

    /// <summary>The socket of an address, which from now on is taken; null where none was handed over.</summary>
    public HandedSocket? Take(EndPoint address)
    {
        HandedSocket? found = _left.Find(socket => address.Equals(socket.EndPoint));
        if (found is not null)
        {
            _left.Remove(found);
        }

        return found;
    }

    /// <summary>Binds an address, to the socket that was handed over for it if there is one.</summary>
    /// <exception cref="EngineException">The address cannot be had; the message says why.</exception>
    public BoundAddress Bind(EndPoint address, int reactors, ListenSettings settings) => Take(address) is { } socket
        ? BoundAddress.Adopt(socket.Descriptor, settings)
        : BoundAddress.Bind(address, reactors, settings);

    /// <summary>Those that no address asked for takes, whether they are taken by now or not.</summary>
    /// <param name="asked">All addresses that were asked for, of whatever kind.</param>
    public IReadOnlyList<HandedSocket> Besides(IEnumerable<EndPoint> asked)
    {
        var rest = new List<HandedSocket>(_all);
        foreach (EndPoint address in asked)
        {
            int index = rest.FindIndex(socket => address.Equals(socket.EndPoint));
            if (index >= 0)
            {
                rest.RemoveAt(index);
            }
        }

        return rest;
    }

    /// <summary>The options with these sockets' addresses beside those that were asked for.</summary>
    /// <param name="options">What is told.</param>
    /// <param name="admin">Where the admin pages are until a restart, whatever is told of them.</param>
    public ServeOptions ApplyTo(ServeOptions options, EndPoint? admin)
    {
        IEnumerable<EndPoint> asked = options.Addresses.Concat(options.Https.Addresses);
        ILookup<bool, EndPoint> addresses = Besides(admin is null ? asked : asked.Append(admin))
            .Where(static socket => socket.EndPoint is not null)
            .ToLookup(static socket => socket.IsForHttps, static socket => socket.EndPoint!);
        return options with
        {
            Addresses = [.. options.Addresses, .. addresses[false]],
            Https = options.Https with { Addresses = [.. options.Https.Addresses, .. addresses[true]] },
        };
    }

    /// <exception cref="ServiceException">One of them cannot be listened on.</exception>
    public void RequireSockets()
    {
        if (_all.FirstOrDefault(static socket => socket.EndPoint is null) is { } odd)
        {
            throw new ServiceException($"Descriptor {odd.Descriptor} ({odd.Name}), which was handed over, cannot be listened on: "
                + "hand over TCP and named unix sockets (ListenStream=).");
        }
    }

    private static int? Number(string? text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) ? number : null;
}
