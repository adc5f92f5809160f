using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using Millrace.Quic.Congestion;
using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.Quic.Streams;
using Millrace.Simulation.Tests.Runs;
using Millrace.Tests.Shared;

namespace Millrace.Simulation.Tests.Quic;

/// <summary>What became of a run.</summary>
internal sealed record QuicReport(ulong Seed, int Connections, long Bytes, QuicFaultCounts Counts, ulong Digest, string? Violation);

/// <summary>
/// One run: a server and some clients over a network with faults, all of which follow from the seed. What must hold: bytes of streams arrive
/// as they were written, or the connection ends for a reason that is known; nothing is amplified; windows are kept; all ends in time;
/// and then nothing is left.
/// </summary>
internal sealed class QuicRun : IQuicAcceptor
{
    private const long InvalidToken = 0x0B;
    private const long VersionNegotiationError = 0x11;
    private const long CalmAfter = 40 * QuicShape.Second;
    private const long TraceAfter = 15 * QuicShape.Second;
    private const long EndAfter = 900 * QuicShape.Second;
    private const long EventsMax = 6_000_000;

    private readonly ulong _seed;
    private readonly Dictionary<ulong, QuicTruth> _truths = [];
    private readonly QuicHost _server;
    private readonly QuicClient[] _clients;
    private readonly QuicFaults _faults;
    private string? _violation;
    private ulong _digest = 0xCBF2_9CE4_8422_2325;
    private int _connections;

    private QuicRun(ulong seed)
    {
        _seed = seed;
        Random = new SeededRandom(seed);
        Swarm = new QuicSwarm(Random);
        Shape = new QuicShape(Random, Swarm);
        Events = new QuicEventQueue(Random);
        Network = new SimulatedNetwork(Random, Swarm, Shape, Counts, Events);
        Version = Shape.UsesVersion2 ? QuicVersion.Version2 : QuicVersion.Version1;
        Settings = MakeSettings(Shape) with { Version = Version };
        _server = new QuicHost(this, Random.Next(), isServer: true);
        Network.ServerHost = _server;
        StartServer();
        _clients = new QuicClient[Shape.Connections];
        for (int i = 0; i < _clients.Length; i++)
        {
            _clients[i] = new QuicClient(this, i, Random.Next());
            _truths[_clients[i].Truth.Key] = _clients[i].Truth;
            Events.In(Shape.ArrivalSpan == 0 ? 0 : Random.Below((int)Math.Min(int.MaxValue, Shape.ArrivalSpan)), _clients[i], 0);
            _connections++;
        }

        _faults = new QuicFaults(this, _server, _clients);
        Trace(string.Join(' ', Enum.GetValues<QuicFault>().Where(Swarm.Has).Select(fault => $"{fault}:{Swarm.RateOf(fault)}")));
        Trace($"delay {Shape.Delay} jitter {Shape.Jitter} rate {Shape.BytesPerSecond} idle {Shape.IdleTimeout} keep {Shape.KeepAlive}");
    }

    public SeededRandom Random { get; }

    public QuicSwarm Swarm { get; }

    public QuicShape Shape { get; }

    public QuicFaultCounts Counts { get; } = new();

    public QuicEventQueue Events { get; }

    public SimulatedNetwork Network { get; }

    public QuicSettings Settings { get; }

    public uint Version { get; }

    public ProtectorCounts Protectors { get; } = new();

    public static QuicReport Run(ulong seed)
    {
        QuicRun run = new(seed);
        run.RunAll();
        return new QuicReport(seed, run._connections, run.Network.Bytes, run.Counts, run._digest, run._violation);
    }

    public QuicTruth NewTruth(int number, QuicClient client)
    {
        QuicTruth truth = new(number, Random.Next());
        _truths[truth.Key] = truth;
        _connections++;
        return truth;
    }

    public void StartServer() => _server.Start(
        Settings, new EndpointLimits { RetryAbove = Swarm.Has(QuicFault.Retry) ? 0 : 1_000 }, this);

    public void Pump(QuicConnection connection)
    {
        QuicHost? host = connection.IsServer ? _server : null;
        foreach (QuicClient client in _clients)
        {
            host ??= client.Connection == connection ? client.Host : null;
        }

        host?.Pump(connection);
    }

    public bool TryAccept(
        in PathAddress client, in PathAddress local, [NotNullWhen(true)] out QuicHandshake? handshake,
        [NotNullWhen(true)] out IQuicConnectionHandler? handler)
    {
        QuicTruth? truth = null;
        foreach (QuicClient known in _clients)
        {
            truth ??= known.IsAt(client) ? known.Truth : null;
        }

        bool fails = Swarm.Strikes(QuicFault.HandshakeFailed, Random);
        if (fails && truth is not null)
        {
            Counts.Count(QuicFault.HandshakeFailed);
            truth.FailsHandshake = true;
        }

        if (Swarm.Has(QuicFault.Retry))
        {
            Counts.Count(QuicFault.Retry);
        }

        handshake = new TestHandshake(
            new TestHandshakeOptions
            {
                Seed = Random.Next(),
                CertificateLength = Shape.CertificateLength,
                Protectors = Protectors,
                FailWith = fails ? (byte)40 : (byte)0,
            },
            isServer: true);
        handler = new QuicServerApplication(this, truth);
        return true;
    }

    public void Check(bool isTrue, string what)
    {
        if (!isTrue)
        {
            Fail(-1, what);
        }
    }

    public void Fail(int connection, string what) => _violation ??= string.Create(
        CultureInfo.InvariantCulture, $"seed {_seed}, client {connection}, {(Events.Now / 1_000_000.0) - 3_600_000:F3} ms: {what}");

    public void OnClientEnded(QuicClientApplication application, QuicConnection connection, in CloseReason reason)
    {
        Note(reason);
        QuicTruth truth = application.Truth!;
        Trace($"client {truth.Number} ends: {reason}");
        string? wrong = WhyWrong(truth, reason, isClient: true);
        truth.IsClientGone |= reason.Source is CloseSource.Timeout or CloseSource.StatelessReset;
        if (wrong is not null)
        {
            Fail(truth.Number, $"client: {wrong}");
        }

        _clients[truth.Number].OnEnded(application, reason);
    }

    public void OnServerEnded(QuicServerApplication application, QuicConnection connection, in CloseReason reason)
    {
        Note(reason);
        Trace($"server of client {application.Truth?.Number} ends: {reason}, {connection.Paths.Active.Remote}");
        if (application.Truth is not { } truth)
        {
            return;
        }

        string? wrong = WhyWrong(truth, reason, isClient: false);
        truth.IsServerGone |= reason.Source is CloseSource.Timeout or CloseSource.NoPath;
        if (wrong is not null)
        {
            Fail(truth.Number, $"server: {wrong}");
        }
    }

    private static QuicSettings MakeSettings(QuicShape shape) => new()
    {
        IdleTimeout = shape.IdleTimeout,
        KeepAlive = shape.KeepAlive,
        HandshakeTimeout = 90 * QuicShape.Second,
        MaximumDatagramSize = 1_500,
        KeyUpdateAfter = shape.KeyUpdateAfter,
        Congestion = shape.IsCubic ? CongestionAlgorithm.Cubic : CongestionAlgorithm.NewReno,
        UsesEcn = shape.UsesEcn,
        Streams = new StreamSettings
        {
            ConnectionWindowBytes = shape.ConnectionWindow,
            StreamWindowBytes = shape.StreamWindow,
            BidirectionalStreamsMax = shape.StreamsMax,
            UnidirectionalStreamsMax = shape.StreamsMax,
        },
    };

    /// <summary>Whether an end may happen, by what was done to the connection.</summary>
    private string? WhyWrong(QuicTruth truth, in CloseReason reason, bool isClient)
    {
        bool isExpected = reason.Source switch
        {
            CloseSource.Local => (isClient && (truth.IsClosedByClient || truth.IsVanished)) || (!isClient && _faults.HasRestarted)
                || reason.Phrase.StartsWith("The endpoint", StringComparison.Ordinal),
            CloseSource.Peer => isClient
                ? (truth.FailsHandshake && reason.Code == 0x100 + 40)
                    || (reason.Code == InvalidToken && Swarm.Has(QuicFault.Retry) && _faults.MayTimeOut)
                : (truth.IsClosedByClient && reason.Code == truth.ClosedCode && reason.IsApplication)
                    || (reason.Code == VersionNegotiationError && MayBeMisled),
            CloseSource.LocalError => isClient
                ? reason.Code == VersionNegotiationError && MayBeMisled
                : (truth.FailsHandshake && reason.Code == 0x100 + 40),
            CloseSource.StatelessReset => isClient
                ? _faults.HasRestarted || truth.IsServerGone
                : truth.IsVanished || truth.IsClosedByClient || truth.IsClientGone,
            CloseSource.Timeout => isClient
                ? _faults.MayTimeOut || _faults.HasRestarted || truth.FailsHandshake || truth.IsServerGone
                : truth.IsClientGone || _faults.MayTimeOut || truth.IsVanished || truth.IsClosedByClient || _faults.HasRestarted || truth.FailsHandshake
                    || reason.Phrase.StartsWith("The", StringComparison.Ordinal),
            CloseSource.NoVersion => isClient && Swarm.Has(QuicFault.VersionNegotiated),
            CloseSource.NoPath => !isClient && (_faults.MayTimeOut || _faults.HasRebound || MayLosePaths || truth.IsClosedByClient || truth.IsVanished),
            _ => false,
        };
        return isExpected ? null : $"ended by {reason.Source}, code {reason.Code:x}, frame {reason.FrameType:x}, {reason.Phrase}";
    }

    /// <summary>For somebody who looks at one seed.</summary>
    public void Trace(string what)
    {
        if (SimulatedNetwork.IsTraced)
        {
            Console.WriteLine($"{(Events.Now / 1e6) - 3_600_000,12:F3} {what}");
        }
    }

    private void TraceStreams()
    {
        foreach (QuicConnection connection in _clients.SelectMany(static client => client.Host.Endpoint.Connections).Concat(_server.Endpoint.Connections))
        {
            Trace($"{(connection.IsServer ? "server" : "client")} {connection.Paths.Active.Local} {connection.Paths.Active.Remote} has frames {connection.Streams.HasFrames}");
            foreach (QuicStream stream in connection.Streams.All)
            {
                StreamWork? work = stream.Tag as StreamWork;
                Trace($"    stream {stream.Id}: {stream.Send.State} {stream.Receive.State} sent {work?.Sent}/{work?.SendTotal} limit {stream.Send.Limit} unsent {stream.Send.Buffer.UnsentBytes} received {work?.Received}/{work?.ReceiveTotal} limit {stream.Receive.Limit} {stream.Receive.Buffer.ReadableBytes} waits {stream.Send.IsRoomWanted}");
            }
        }
    }

    private void RunAll()
    {
        long start = Events.Now;
        bool isTraceDue = SimulatedNetwork.IsTraced;
        while (_violation is null && Events.TryRunNext())
        {
            Network.IsCalm |= Events.Now - start > CalmAfter;
            if (isTraceDue && Events.Now - start > TraceAfter)
            {
                isTraceDue = false;
                TraceStreams();
            }

            if (Network.Ledger.Fault is { } fault)
            {
                Fail(-1, fault);
            }

            Check(Events.Events < EventsMax, "too many events");
            if (Events.Now - start > EndAfter)
            {
                Check(IsOver, Describe());
                break;
            }

            if (IsOver)
            {
                break;
            }
        }

        if (_violation is null)
        {
            Check(IsOver, "nothing happens any more, and not all is over");
            CheckLeft();
        }

        _digest = (_digest ^ (ulong)Events.Events) * 0x0000_0100_0000_01B3;
        _digest = (_digest ^ (ulong)Events.Now) * 0x0000_0100_0000_01B3;
    }

    /// <summary>A list of versions is not authentic: a damaged one may lead to a version that the server would not have chosen.</summary>
    private bool MayBeMisled => Swarm.Has(QuicFault.VersionNegotiated) && (Swarm.Has(QuicFault.Truncated) || Swarm.Has(QuicFault.Corrupted));

    /// <summary>Somebody moves the server to an address of nobody, and nothing passes while it asks at the client's.</summary>
    private bool MayLosePaths => Swarm.Has(QuicFault.Hijacked) && Swarm.Has(QuicFault.Blackout);

    private bool IsOver => _server.Endpoint.Connections.Count == 0
        && Array.TrueForAll(_clients, static client => client.IsOver && client.Host.Endpoint.Connections.Count == 0);

    private string Describe() =>
        $"not over in time: {_server.Endpoint.Connections.Count} at the server, clients not over: "
        + string.Join(",", _clients.Where(static client => !client.IsOver || client.Host.Endpoint.Connections.Count > 0).Select(static c => c.Truth.Number));

    /// <summary>Nothing is left of connections that have ended.</summary>
    private void CheckLeft()
    {
        CheckHost(_server, "server");
        foreach (QuicClient client in _clients)
        {
            CheckHost(client.Host, "client");
        }

        Check(Protectors.Live == 0, $"{Protectors.Live} keys of handshakes are left");
        _server.Blocks.Dispose();
    }

    private void CheckHost(QuicHost host, string name)
    {
        Check(host.Blocks.LentBlocks == 0, $"{name}: {host.Blocks.LentBlocks} blocks are left");
        Check(host.Endpoint.Routes == 0, $"{name}: {host.Endpoint.Routes} routes are left");
        Check(host.Endpoint.Handshakes == 0, $"{name}: {host.Endpoint.Handshakes} handshakes are counted");
        Check(host.Cryptography.Protectors.Live == 0, $"{name}: {host.Cryptography.Protectors.Live} Initial keys are left");
        host.Blocks.Dispose();
    }

    private void Note(in CloseReason reason) =>
        _digest = (_digest ^ (ulong)Events.Now ^ ((ulong)reason.Source << 56) ^ (ulong)reason.Code) * 0x0000_0100_0000_01B3;
}
