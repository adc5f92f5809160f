using System.Globalization;
using Millrace.Interop;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Kernel;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Upstreams;

/// <summary>The upstreams of a run: who listens, what was asked of them, and which of their faults excuse an answer that is not theirs.</summary>
internal sealed class SimulatedUpstreams(World world, UpstreamShape shape)
{
    /// <summary>Connections to upstreams are numbered from here on, after those of clients.</summary>
    public const int FirstNumber = 100_000;

    private readonly Dictionary<int, ProxiedExchange> _exchanges = [];
    private readonly List<UpstreamPeer> _peers = [];
    private long _faultAtMs = long.MinValue / 2;
    private long _connectFaultAtMs = long.MinValue / 2;

    public UpstreamShape Shape => shape;

    /// <summary>Until then an upstream, or the wait for one, may keep a client waiting.</summary>
    public long SlowUntilMs { get; private set; }

    /// <summary>How many requests have reached an upstream whole.</summary>
    public int Answered { get; private set; }

    /// <summary>How many exchanges clients have begun.</summary>
    public int Drawn => _exchanges.Count;

    /// <summary>A request that a client will send.</summary>
    public ProxiedExchange Draw(int owner, int number)
    {
        var exchange = new ProxiedExchange(world, owner, number);
        _exchanges.Add(exchange.Id, exchange);
        return exchange;
    }

    /// <summary>A request for a WebSocket that a client will send.</summary>
    public ProxiedExchange DrawTunnel(int owner, int number, bool isHttp2)
    {
        var exchange = new ProxiedExchange(world, owner, number, isHttp2, shape);
        _exchanges.Add(exchange.Id, exchange);
        Tunnels += exchange.Tunnel is null ? 0 : 1;
        return exchange;
    }

    /// <summary>How many tunnels clients have asked for where one is available.</summary>
    public int Tunnels { get; private set; }

    /// <summary>The exchange of an id that a request names; null for none.</summary>
    public ProxiedExchange? Find(int id) => _exchanges.GetValueOrDefault(id);

    /// <summary>A socket that will connect.</summary>
    public SimulatedSocket Open(SimulatedBackend kernel)
    {
        var peer = new UpstreamPeer(world, this, kernel, FirstNumber + _peers.Count);
        _peers.Add(peer);
        return peer.Socket;
    }

    public void Connect(Operation connect)
    {
        if (Array.IndexOf(UpstreamShape.Ports, connect.Port) < 0)
        {
            world.Fail(connect.Connection, $"A connect goes to port {connect.Port}, where no upstream is.");
        }

        ((UpstreamPeer)connect.Socket!.Other).Connect(connect, DrawConnect(connect.Connection));
    }

    /// <summary>Something ended a connection, or an answer, that a client may notice.</summary>
    public void NoteFault() => _faultAtMs = world.NowMs;

    /// <summary>An upstream could not be connected to, and is avoided for a while.</summary>
    public void NoteConnectFault() => _faultAtMs = _connectFaultAtMs = world.NowMs;

    /// <summary>An upstream moves, or has until its deadline to move.</summary>
    public void BeSlowFor(long ms) => SlowUntilMs = Math.Max(SlowUntilMs, world.NowMs + ms);

    public void CountAnswered() => Answered++;

    /// <summary>Why an answer of this status, which is the server's own, may not come now; null where it may.</summary>
    public string? WhyNot(ProxiedExchange exchange, int status, long beganAtMs)
    {
        // A connection that broke just before the request was sent on it, unseen by the server.
        long sinceMs = beganAtMs - world.Shape.SlackMs;
        bool isFaulty = exchange.Attempts.Exists(static attempt => attempt.Fault is not null) || _faultAtMs >= sinceMs;
        bool isLate = exchange.Attempts.Exists(static attempt => attempt.Hangs)
            || _connectFaultAtMs >= sinceMs - shape.FailMs || world.JumpedAtMs >= sinceMs || shape.IsTight;
        bool isDown = _connectFaultAtMs >= sinceMs - shape.FailMs || world.JumpedAtMs >= sinceMs || shape.IsTight;
        bool mayCome = world.IsStopping || status switch
        {
            502 => isFaulty || isDown,
            503 => isDown,
            504 => isLate,
            _ => false,
        };
        return mayCome ? null : string.Create(CultureInfo.InvariantCulture, $"is a {status} without a fault of an upstream");
    }

    /// <summary>The run is over: each connection to an upstream was closed.</summary>
    public void CheckClosed()
    {
        foreach (UpstreamPeer peer in _peers.Where(static peer => !peer.Socket.IsClosed))
        {
            world.Fail(peer.Number, "The server has stopped, and a connection to an upstream is still open.");
        }
    }

    /// <summary>How a connect ends: 0, -errno, or null for not at all.</summary>
    private int? DrawConnect(int connection)
    {
        if (world.Strikes(FaultKind.UpstreamRefuses, connection))
        {
            NoteConnectFault();
            return world.Random.Pick<int>(-Errno.ECONNREFUSED, -Errno.ECONNREFUSED, -Errno.EHOSTUNREACH, -Errno.ENETUNREACH, -Errno.EADDRNOTAVAIL);
        }

        if (world.Strikes(FaultKind.UpstreamUnreachable, connection))
        {
            // It fails when the server gives it up.
            NoteConnectFault();
            BeSlowFor(shape.DeadlinesMs);
            return null;
        }

        return world.Strikes(FaultKind.Interrupted, connection) ? -Errno.EINTR
            : world.Strikes(FaultKind.TryAgain, connection) ? -Errno.EAGAIN
            : 0;
    }
}
