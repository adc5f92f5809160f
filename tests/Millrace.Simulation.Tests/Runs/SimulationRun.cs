using System.Net;
using Millrace.Engine;
using Millrace.Engine.Backends;
using Millrace.Engine.Diagnostics;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.HttpServer.Http1;
using Millrace.HttpServer.Sessions;
using Millrace.HttpServer.Upstreams;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Kernel;
using Millrace.Simulation.Tests.Peers;
using Millrace.Simulation.Tests.Peers.Http2;
using Millrace.Simulation.Tests.Upstreams;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>
/// One run: a real reactor with real sessions over a simulated kernel, the peers of it, from the first connection to the last byte that
/// is given back. All of it follows from the seed.
/// </summary>
internal sealed class SimulationRun : IScheduled
{
    private const int StopEvent = 0;
    private const int JumpEvent = 1;
    private const int DeployEvent = 2;

    /// <summary>A run takes milliseconds; one that hangs in the server, where the simulated clock stands still, is found by this.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(1);

    /// <summary>Longer than any peer that still reads what is there waits for more, whatever the clock does.</summary>
    private const long SettlingMs = 3_600_000;

    private static readonly IPEndPoint Nowhere = new(IPAddress.Loopback, 1);

    private readonly World _world;
    private readonly SimulatedSites _sites;
    private readonly List<Peer> _peers = [];
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly SimulatedListener _echoListener;
    private readonly SimulatedListener _pipeListener;
    private readonly SimulatedListener _stagedListener;
    private readonly Reactor[] _reactors;
    private readonly SimulatedBackend[] _kernels;
    private readonly List<Acceptor> _acceptors = [];
    private readonly AdmissionModel _admissions;
    private readonly SessionReactorState?[] _benches;
    private readonly ConnectionBalancer _balancer;
    private readonly UpstreamGroups _groups;
    private bool _hasBegun;
    private bool _reactorsAreStopped;
    private bool _isHeld;
    private int _peersDone;
    private int _jumpsLeft = 5;
    private int _deploymentsLeft = 4;

    private SimulationRun(ulong seed, SimulatedSites sites, Func<SimulatedBackend, Backend> tamper, bool hasUpstreams, bool hasTunnels)
    {
        _world = new World(seed, hasUpstreams);
        Upstreams = hasUpstreams ? new SimulatedUpstreams(_world, new UpstreamShape(_world.Random, hasTunnels)) : null;
        _sites = sites;
        ReactorSequencer = new ReactorSequencer(_world, this);
        _kernels = [.. Enumerable.Range(0, _world.Shape.Reactors).Select(_ => new SimulatedBackend(_world, this))];
        Array.ForEach(_kernels, ReactorSequencer.Add);
        HttpListener = new SimulatedListener(_world, Kernel) { TellsRefused = _world.Shape.Limits.Refusals > 0 };
        _echoListener = new SimulatedListener(_world, Kernel);
        _pipeListener = new SimulatedListener(_world, Kernel);
        _stagedListener = new SimulatedListener(_world, Kernel);
        SealedListener = new SimulatedListener(_world, Kernel);
        Limiter = new ConnectionLimiter(_world.Shape.Limits);
        _admissions = new AdmissionModel(_world);
        var log = new EngineLog(new ReactorWatch(_world, this));
        _reactors =
        [
            .. _kernels.Select(tamper).Select((backend, index) => new Reactor(index, _world.Shape.Limits, log, () => backend, Limiter)),
        ];
        _benches = new SessionReactorState?[_reactors.Length];
        _balancer = new ConnectionBalancer(_reactors);
        _groups = Upstreams is null ? UpstreamGroups.None : SimulatedSites.GroupsOf(Upstreams.Shape, _reactors.Length);
    }

    /// <summary>Of the reactor that accepts.</summary>
    public SimulatedBackend Kernel => _kernels[0];

    public ReactorSequencer ReactorSequencer { get; }

    public DescriptorTable Descriptors { get; } = new();

    public SimulatedListener HttpListener { get; }

    /// <summary>The same sites, through a seal.</summary>
    public SimulatedListener SealedListener { get; }

    public ConnectionLimiter Limiter { get; }

    /// <summary>The site of its own that a run has which deploys; null for none.</summary>
    public Deployment? Deployment { get; private set; }

    /// <summary>What the sites send requests on to; null for nothing.</summary>
    public SimulatedUpstreams? Upstreams { get; }

    /// <summary>Of the peers that have not ended, one; nobody when all have.</summary>
    public int FirstOpenPeer => _peers.Find(static peer => !peer.IsDone)?.Number ?? Trace.NoConnection;

    /// <summary>Runs a seed to its end.</summary>
    public static RunReport Run(ulong seed, SimulatedSites sites) => Run(seed, sites, static kernel => kernel);

    /// <summary>The same with something between reactor and kernel.</summary>
    public static RunReport Run(ulong seed, SimulatedSites sites, Func<SimulatedBackend, Backend> tamper, bool hasUpstreams = false, bool hasTunnels = false)
    {
        var simulation = new SimulationRun(seed, sites, tamper, hasUpstreams, hasTunnels);
        simulation.Run();
        World world = simulation._world;
        return new RunReport(seed, simulation._peers.Count, simulation.Upstreams?.Drawn ?? 0, simulation.Upstreams?.Tunnels ?? 0, world.FaultCounts, world.Trace.Digest, world.Violation);
    }

    /// <summary>A turn begins.</summary>
    public void OnIteration()
    {
        if (!_hasBegun)
        {
            _hasBegun = true;
            Begin();
        }
        else if (_world.IsStopping && !_reactorsAreStopped && _acceptors.TrueForAll(static acceptor => acceptor.Stopped.IsCompleted))
        {
            StopReactors();
        }
    }

    /// <summary>The first turn: listeners open, and peers begin to come. From here on no other thread says anything.</summary>
    private void Begin()
    {
        Listen(
            HttpListener,
            connection => new Http1Session(connection, BenchOf(connection.Reactor)).RunAsync(),
            connection => RefusedSession.RunAsync(connection, BenchOf(connection.Reactor)));
        Listen(_echoListener, Handlers.EchoAsync);
        Listen(_pipeListener, Handlers.EchoByPipeAsync);
        Listen(_stagedListener, Handlers.EchoAsync, filters: static (world, socket, _) => ToyFilter.Chain(world, socket));
        Listen(
            SealedListener,
            connection => new Http1Session(connection, BenchOf(connection.Reactor)).RunAsync(),
            filters: static (world, socket, connection) => [new SealFilter(world, socket, connection)]);

        // Whose file is cut off, or not to be had, is answered without a tag, and so it could be of any release.
        bool isDeployed = _world.Swarm.Has(FaultKind.Deployed)
            && !_world.Swarm.Has(FaultKind.FileRefused) && !_world.Swarm.Has(FaultKind.FileShrinks);
        if (isDeployed)
        {
            Deployment = new Deployment(_world, _sites.Releases);
            _world.EventQueue.In(_world.Random.Below(_world.Shape.ArrivalSpanMs + 100), this, DeployEvent);
        }

        var exchanges = new ExchangeGenerator(_world, _sites, Deployment, Upstreams);
        for (int number = 0; number < _world.Shape.Connections; number++)
        {
            Peer peer = MakePeer(number, exchanges);
            _peers.Add(peer);
            peer.Begin(_world.Random.Below(_world.Shape.ArrivalSpanMs + 1));
        }

        if (_world.Shape.StopAfterMs >= 0)
        {
            _world.EventQueue.In(_world.Shape.StopAfterMs, this, StopEvent);
        }

        if (_world.Swarm.Has(FaultKind.ClockJumped))
        {
            _world.EventQueue.In(_world.Random.Below(2_000), this, JumpEvent);
        }
    }

    public void Act(int eventId)
    {
        if (eventId == StopEvent)
        {
            _world.Count(FaultKind.Stopped, Trace.NoConnection);
            Stop();
        }
        else if (eventId == JumpEvent)
        {
            Jump();
        }
        else
        {
            Deploy();
        }
    }

    public void OnPeerDone()
    {
        if (++_peersDone == _peers.Count)
        {
            Stop();
        }
    }

    /// <summary>A connection was closed that was never served: that is for the newest beyond the limit, and who comes too late.</summary>
    public void OnShed(SimulatedSocket socket)
    {
        _admissions.OnShed(socket);
        socket.Excuse();
    }

    /// <summary>A connection may be ended as others need what it holds, or its place.</summary>
    public void OnClosing(SimulatedBackend kernel, SimulatedSocket socket, int descriptor)
    {
        if (ReactorOf(kernel).Connections.InUse().Any(connection => connection.Descriptor == descriptor && connection.Holdings.IsShed))
        {
            socket.Excuse();
        }
    }

    /// <summary>What every connection that is left believes of itself, a line each.</summary>
    public string DescribeConnections() => string.Concat(_reactors.SelectMany(static reactor =>
        reactor.Connections.InUse().Select(connection => $"\n  reactor {reactor.Index}, {connection.Describe()}")));

    /// <summary>The reactor is about to wait: nobody may be forgotten.</summary>
    public void Audit(SimulatedBackend kernel, Func<OperationToken, bool> isInFlight)
    {
        if (ConnectionAudit.Check(ReactorOf(kernel), isInFlight, Upstreams is not null) is (int slot, string what))
        {
            _world.Fail(kernel.ConnectionOf(slot).Number, what);
        }
    }

    /// <summary>Some time after the connection of a slot is gone, a completion comes for it.</summary>
    public void SendLateCompletion(SimulatedBackend kernel, int slot)
    {
        Reactor reactor = ReactorOf(kernel);
        OperationKind kind = _world.Random.Pick(OperationKind.Receive, OperationKind.Receive, OperationKind.Send, OperationKind.FileRead);
        var token = new OperationToken(kind, reactor.Connections.At(slot).Generation, slot);
        _world.EventQueue.In(_world.Random.Below(30), new LateCompletion(_world, kernel, reactor, token), 0);
    }

    /// <summary>What has failed is ended, to be reported.</summary>
    public void StopAfterFailure()
    {
        if (!_isHeld && _hasBegun && !_reactorsAreStopped)
        {
            Stop();
            StopReactors();
        }
    }

    /// <summary>Keeps the reactor's thread from going on: what its run has become is no longer safe to run, nor to end.</summary>
    public void HoldForGood(string why)
    {
        _world.Fail(Trace.NoConnection, $"The run is given up, {why}.");
        _isHeld = true;
        _ended.TrySetResult();
        Thread.Sleep(Timeout.Infinite);
    }

    private void Run()
    {
        RunReactor();
        if (!_isHeld)
        {
            Array.ForEach(_benches, static bench => bench?.Dispose());
            Deployment?.End();
            _groups.Dispose();
            _world.Disk.CloseAll();
            _world.Trace.Dispose();
        }
    }

    private void RunReactor()
    {
        Array.ForEach(_reactors, static reactor => _ = reactor.StartAsync());
        if (!_ended.Task.Wait(Patience))
        {
            _isHeld = true;
            _world.Fail(Trace.NoConnection, "The run hangs: the server does not come back to its kernel.");
            return;
        }

        if (_world.HasFailed)
        {
            return;
        }

        // What the server has sent is still on its way, to peers that take their time: hours, some of them, and all move on.
        long endedAtMs = _world.NowMs;
        while (_peersDone < _peers.Count
            && _world.EventQueue.NextAtMs < Math.Max(endedAtMs, _world.PeersMovedAtMs) + SettlingMs && !_world.HasFailed)
        {
            _world.EventQueue.AdvanceTo(_world.EventQueue.NextAtMs);
            _world.EventQueue.TryRunDue();
        }

        _peers.ForEach(static peer => peer.CheckDone());
        Upstreams?.CheckClosed();
        CheckReturned();
        _admissions.CheckEmpty(Limiter);
    }

    private void CheckReturned()
    {
        (int Slots, int Blocks, int Batches, int Operations, int Descriptors, int Files, int Filters) left =
        (
            _reactors.Sum(static reactor => reactor.Connections.Count),
            _reactors.Sum(static reactor => reactor.Pools.Lent),
            _reactors.Sum(static reactor => reactor.Batches.Lent),
            _kernels.Sum(static kernel => kernel.OperationsInFlight),
            Descriptors.Count,
            _world.Disk.OpenDescriptors,
            _world.FiltersHeld);
        if (left != default)
        {
            _world.Fail(Trace.NoConnection, $"Not returned: {left}.");
        }
    }

    private SessionReactorState BenchOf(Reactor reactor) =>
        _benches[reactor.Index] ??= new SessionReactorState(
            reactor, _sites.HostsWith(Deployment?.Site, Upstreams?.Shape.Count ?? 0), _world.Shape.HttpLimits, _world.Disk, clock: new WorldClock(_world))
        {
            // Only peers whose bytes are sealed ask for https.
            CarriesHttps = static _ => true,
            UpstreamGroups = _groups,
        };

    private Reactor ReactorOf(SimulatedBackend kernel) => _reactors[Array.IndexOf(_kernels, kernel)];

    private SimulatedSocket SocketOf(Connection connection) =>
        _kernels[connection.Reactor.Index].Seat(connection.Slot, connection.Descriptor);

    private void Listen(
        SimulatedListener listener,
        ConnectionHandler handler,
        ConnectionHandler? refusal = null,
        Func<World, SimulatedSocket, Connection, IReadOnlyList<ConnectionFilter>>? filters = null)
    {
        Func<Connection, IReadOnlyList<ConnectionFilter>>? chain = filters is null ? null : connection =>
        {
            SimulatedSocket socket = SocketOf(connection);
            _admissions.OnAdmitted(connection, socket, AdmissionResult.Served);
            return filters(_world, socket, connection);
        };
        ConnectionHandler? refused = refusal is null || !listener.TellsRefused ? null : Booked(refusal, AdmissionResult.Refused);
        var core = new ListenerContext(Nowhere, Booked(handler, AdmissionResult.Served), chain, refused) { TakesPages = _world.Shape.TakesPages };
        Action<int, ListenerContext> serve = _reactors.Length == 1 ? _reactors[0].Admission.Acquire : Deal;
        _acceptors.Add(Acceptor.Start(_reactors[0], Kernel.Open(listener), core, serve));
    }

    private ConnectionHandler Booked(ConnectionHandler handler, AdmissionResult admission) => connection =>
    {
        _admissions.OnAdmitted(connection, SocketOf(connection), admission);
        return handler(connection);
    };

    private void Stop()
    {
        if (_world.IsStopping)
        {
            return;
        }

        _world.StoppedAtMs = _world.NowMs;
        _world.Trace.Note(Trace.NoConnection, TraceEvent.Stops, _world.Shape.DrainMs);
        if (_reactors.Length == 1)
        {
            StopReactors();
            return;
        }

        // As a group does: nobody is accepted any more for a reactor that has ended.
        _acceptors.ForEach(acceptor => _reactors[0].Post(static acceptor => ((Acceptor)acceptor!).Stop(), acceptor));
        Kernel.Wake();
    }

    private void StopReactors()
    {
        _reactorsAreStopped = true;
        _world.StoppedAtMs = _world.NowMs;
        TimeSpan drain = _world.HasFailed ? TimeSpan.Zero : TimeSpan.FromMilliseconds(_world.Shape.DrainMs);
        _ = Task.WhenAll(_reactors.Select(reactor => reactor.StopAsync(drain))).ContinueWith(
            (_, ended) => ((TaskCompletionSource)ended!).TrySetResult(), _ended, TaskScheduler.Default);

        // They find it in their mailboxes, which they look into between two turns.
        Array.ForEach(_kernels, static kernel => kernel.Wake());
    }

    private void Deal(int socket, ListenerContext listener)
    {
        _world.Count(FaultKind.Dealt, Trace.NoConnection);
        _balancer.Distribute(socket, listener);
    }

    private void Deploy()
    {
        if (_world.IsStopping)
        {
            return;
        }

        _world.Count(FaultKind.Deployed, Trace.NoConnection);
        Deployment!.Deploy();
        foreach (Reactor reactor in _reactors)
        {
            if (_benches[reactor.Index] is { } bench && _world.Random.Chance(500))
            {
                // As a server does that has no requests; with some, the next of them moves on by itself.
                reactor.Post(static bench => ((SessionReactorState)bench!).AcquireLatest(), bench);
                _kernels[reactor.Index].Wake();
            }
        }

        if (--_deploymentsLeft > 0)
        {
            _world.EventQueue.In(_world.Random.Below(_world.Random.Pick<int>(5, 300, 5_000)), this, DeployEvent);
        }
    }

    private void Jump()
    {
        if (_world.Strikes(FaultKind.ClockJumped, Trace.NoConnection))
        {
            _jumpsLeft--;
            _world.Jump(_world.Random.Pick<int>(50, 700, 20_000, 200_000));

            // Deadlines have passed unseen, of everybody.
            _peers.ForEach(static peer => peer.OnClockJump());
        }

        if (_jumpsLeft > 0)
        {
            _world.EventQueue.In(_world.Random.Between(1, 1_000), this, JumpEvent);
        }
    }

    private Peer MakePeer(int number, ExchangeGenerator exchanges)
    {
        int protocol = Upstreams is null ? _world.Random.Below(14) : _world.Random.Pick<int>(0, 11);
        PeerBehaviour behaviour = DrawTemper(number, isHttp: protocol is < 7 or > 10);
        PeerSeal? seal = protocol is < 7 or > 10 && _world.Random.Chance(300) ? new PeerSeal(_world.Random) : null;
        if (seal is not null && behaviour is PeerBehaviour.Trickles or PeerBehaviour.Floods)
        {
            // They count bytes as the server's session sees them.
            behaviour = PeerBehaviour.Polite;
        }

        return protocol switch
        {
            > 10 => new Http2Peer(_world, this, number, behaviour == PeerBehaviour.Floods ? PeerBehaviour.NeverReads : behaviour, exchanges, seal),
            10 => new FramedPeer(_world, this, number, behaviour, _stagedListener),
            < 7 => new HttpPeer(_world, this, number, behaviour, exchanges, seal),
            7 or 8 => new EchoPeer(_world, this, number, behaviour, _echoListener),
            _ => new EchoPeer(_world, this, number, behaviour, _pipeListener),
        };
    }

    private PeerBehaviour DrawTemper(int number, bool isHttp)
    {
        ReadOnlySpan<(PeerBehaviour, FaultKind)> bad =
        [
            (PeerBehaviour.HalfCloses, FaultKind.HalfCloses),
            (PeerBehaviour.NeverReads, FaultKind.NeverReads),
            (PeerBehaviour.ReadsSlowly, FaultKind.ReadsSlowly),
            (PeerBehaviour.Vanishes, FaultKind.Vanishes),
            (PeerBehaviour.Resets, FaultKind.Resets),
            (PeerBehaviour.Leaves, FaultKind.Leaves),
            (PeerBehaviour.Stays, FaultKind.Stays),
            (PeerBehaviour.Trickles, FaultKind.Trickles),
            (PeerBehaviour.StallsBody, FaultKind.StallsBody),
            (PeerBehaviour.Floods, FaultKind.Floods),
        ];

        // The last four are about requests; floods cost a lot of time.
        (PeerBehaviour behaviour, FaultKind kind) = bad[_world.Random.Below(isHttp ? bad.Length : 6)];
        bool isDrawn = _world.Swarm.Has(kind) && (behaviour != PeerBehaviour.Floods || _world.Random.Chance(100));
        if (!isDrawn)
        {
            return PeerBehaviour.Polite;
        }

        _world.Count(kind, number);
        return behaviour;
    }
}
