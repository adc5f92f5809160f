using Millrace.Http;
using Millrace.Models;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Kernel;
using Millrace.Simulation.Tests.Runs;
using Millrace.Tests.Shared;

namespace Millrace.Simulation.Tests.Peers.Http2;

/// <summary>
/// A client of HTTP/2: opens streams, as many at once as it likes, cancels some, opens windows as it reads or not at all, floods, and knows
/// what each stream must be answered with, and how much of it may come when.
/// </summary>
internal sealed partial class Http2Peer : Peer
{
    private static readonly byte[] Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8.ToArray();

    private readonly ExchangeGenerator _exchanges;
    private readonly Expectations _expectations;
    private readonly int _count;
    private readonly int _atOnce;
    private readonly int _initialWindow;
    private readonly bool _cancels;
    private readonly bool _stalls;
    private readonly bool _stallsAll;
    private readonly bool _floods;
    private readonly List<Http2Exchange> _streams = [];
    private readonly ReferenceHpack _decoder = new();
    private byte[] _out = [];

    /// <summary>Since when there has been something to send all the time.</summary>
    private long _outSinceMs;
    private int _outAt;
    private long _windowClosedAtMs = long.MaxValue;
    private Http2Error? _goAway;
    private int _lastStreamId = int.MaxValue;
    private long _allSaidAtMs = long.MaxValue;
    private bool _hasRudeEnd;
    private long _rudeEndAtMs = long.MaxValue;

    public Http2Peer(World world, SimulationRun run, int number, PeerBehaviour behaviour, ExchangeGenerator exchanges, PeerSeal? seal)
        : base(world, run, number, behaviour, seal)
    {
        _exchanges = exchanges;
        _expectations = new Expectations(world, run);
        _credit = new WindowCredit(world);
        int most = world.Random.Pick<int>(1, 4, 20) * (run.Upstreams is null ? 1 : 3);
        _count = world.Random.Between(1, most);
        _atOnce = world.Random.Between(1, world.Random.Pick<int>(1, 5, 20));
        _initialWindow = world.Random.Pick<int>(0, 50, 3_000, DefaultWindowBytes, 1_000_000);
        _cancels = Draw(FaultKind.Cancels);
        _stalls = behaviour == PeerBehaviour.Polite && Draw(FaultKind.StallsWindows);
        _stallsAll = _stalls && world.Random.Chance(300);
        _floods = behaviour == PeerBehaviour.Polite && !_stalls && world.Shape.SendPieceBytes >= 40 && world.Random.Chance(300)
            && Draw(FaultKind.FloodsFrames);
        Say([.. Preface, .. Frame.Settings((SettingId.InitialWindowSize, (uint)_initialWindow))]);
        OpenMore();
    }

    protected override ReadOnlySpan<byte> Outgoing => _out.AsSpan(_outAt);

    /// <summary>Who ends its output opens no windows any more: not before the last answer.</summary>
    protected override bool HasSentAll =>
        Outgoing.IsEmpty && (_streams.Count == _count || _goAway is not null) && _hasRudeEnd
        && (PeerBehaviour != PeerBehaviour.HalfCloses || AreAllOver);

    /// <summary>A stream that the server has all for, and room.</summary>
    protected override bool IsOwed =>
        Outgoing.IsEmpty && IsReading && _goAway is null && _window > 0 && _streams.Exists(static stream => stream.IsOwed);

    protected override bool OwesHanging =>
        _streams.TrueForAll(static stream => !stream.IsOwed || stream.Exchange.Proxied is { Hangs: true });

    /// <summary>Streams tell of their own ends: a connection that ends has to say so before, or to have been told.</summary>
    protected override bool IsBetweenResponses =>
        (_goAway is not null && !(_goAway == Http2Error.NoError && IsPromised)) || HasEnded || Socket.MayBreak || World.IsStopping;

    protected override bool HasReceivedAll =>
        _streams.Count == _count && AreAllOver && !_floods
        && (PeerBehaviour is not (PeerBehaviour.Trickles or PeerBehaviour.StallsBody) || _goAway is not null);

    protected override bool WasReportedOfEnd => _goAway is not null;

    protected override bool HasDeadlines => true;

    protected override long EarliestEndMs => PeerBehaviour == PeerBehaviour.Stays && !_floods && !_stallsAll && _goAway == Http2Error.NoError
        ? _streams[^1].BeganAtMs + (long)World.Shape.HttpLimits.KeepAlive.TotalMilliseconds
        : 0;

    protected override long SlowUntilMs => Math.Max(base.SlowUntilMs, World.Disk.SlowUntilMs);

    /// <summary>These do not wait for the responses before: the time for a next request begins after the last of them.</summary>
    protected override long RestMs =>
        _floods || PeerBehaviour == PeerBehaviour.StallsBody ? (long)World.Shape.HttpLimits.KeepAlive.TotalMilliseconds : 0;

    protected override SimulatedListener Listener => IsSealed ? Run.SealedListener : Run.HttpListener;

    private bool IsPromised => _streams.Exists(stream => !stream.IsOver && stream.StreamId <= _lastStreamId);

    protected override void OnSent(int count)
    {
        _outAt += count;
        SendOpenings(count);
        if (!Outgoing.IsEmpty)
        {
            return;
        }

        OpenPending();
        if (!Outgoing.IsEmpty)
        {
            return;
        }

        NoteProgress();
        EndRudely();
        ExpectDeadline();
    }

    /// <summary>Once, after all that it asks for; what is in the middle of a frame has nothing more to say.</summary>
    private void EndRudely()
    {
        bool isTime = _streams.Count == _count && Outgoing.IsEmpty && (PeerBehaviour != PeerBehaviour.Trickles || AreAllOver);
        if (isTime && !_hasRudeEnd)
        {
            _hasRudeEnd = true;
            SayRudeEnd();
        }
    }

    private bool AreAllOver => _streams.TrueForAll(static stream => stream.IsOver);

    private bool Draw(FaultKind kind)
    {
        bool isDrawn = World.Swarm.Has(kind) && World.Random.Chance(500);
        if (isDrawn)
        {
            World.Count(kind, Number);
        }

        return isDrawn;
    }

    private void Say(byte[] frames)
    {
        if (PeerBehaviour == PeerBehaviour.Trickles && _rudeEndAtMs != long.MaxValue)
        {
            return;
        }

        _outSinceMs = Outgoing.IsEmpty ? World.NowMs : _outSinceMs;
        _out = [.. Outgoing, .. frames];
        _outAt = 0;
    }

    private void OpenMore()
    {
        while (_goAway is null && _streams.Count < _count && _streams.Count(static stream => !stream.IsOver) < _atOnce)
        {
            StreamTreatment treatment = _cancels && World.Random.Chance(500) ? StreamTreatment.Cancelled
                : _stalls && World.Random.Chance(500) ? StreamTreatment.Stalled
                : StreamTreatment.Fair;
            Exchange exchange = _exchanges.HasTunnels && World.Random.Chance(300)
                ? _exchanges.DrawTunnel(Number, _streams.Count, isHttp2: true)
                : _exchanges.Draw(Number, _streams.Count);
            var stream = new Http2Exchange(World, exchange, 1 + (2 * _streams.Count), treatment, _initialWindow);
            _streams.Add(stream);
            Say(stream.ToFrames(World.Random, IsSealed ? "https" : "http"));
            if (stream.Tunnel is { } tunnel)
            {
                BeginTunnel(stream, tunnel);
            }

            if (treatment == StreamTreatment.Cancelled && World.Random.Chance(300))
            {
                Cancel(stream);
            }
            else if (_initialWindow == 0 && treatment != StreamTreatment.Stalled)
            {
                OpenStream(stream, World.Random.Between(1, DefaultWindowBytes));
            }
        }
    }

    private void Cancel(Http2Exchange stream)
    {
        Say(Frame.Reset(stream.StreamId));
        stream.IsOver = stream.IsCancelled = true;
    }

    /// <summary>What a behaviour does after the last request: half a frame, a body that does not come, or more frames than are welcome.</summary>
    private void SayRudeEnd()
    {
        int streamId = 1 + (2 * _count);
        if (_floods)
        {
            SayFlood();
        }
        else if (PeerBehaviour == PeerBehaviour.Trickles)
        {
            Say(Frame.Headers(streamId, Block.Get("/"))[..World.Random.Between(1, 20)]);
            _rudeEndAtMs = World.NowMs;
            ExpectEnd(World.Shape.HttpLimits.Head, "the deadline for a frame");
        }
        else if (PeerBehaviour == PeerBehaviour.StallsBody)
        {
            _rudeEndAtMs = World.NowMs;
            Say([.. Frame.Headers(streamId, Block.Request("POST", "/", "content-length: 1000"), FrameFlags.EndHeaders),
                .. Frame.Data(streamId, new byte[30], FrameFlags.None)]);
            RunShape shape = World.Shape;
            var tunnels = TimeSpan.FromMilliseconds(Run.Upstreams?.Shape.TunnelIdleMs ?? 0);
            TimeSpan stalls = (2 * shape.HttpLimits.ReceiveStall) + (2 * shape.Limits.WriteStall) + tunnels;
            TimeSpan keepAlive = shape.HttpLimits.KeepAlive;
            ExpectEnd(stalls + shape.HttpLimits.Body + keepAlive, "the deadlines for a body and a next request", stalls + keepAlive);
        }
        else
        {
            ExpectDeadline();
        }
    }

    /// <summary>Frames that ask for nothing, of one kind or of many. The server has to have enough of them.</summary>
    private void SayFlood()
    {
        int kinds = World.Random.Between(1, 5);
        var frames = new List<byte>();
        for (int i = 0; i < FloodFrames; i++)
        {
            frames.AddRange((i % kinds) switch
            {
                0 => Frame.Ping("a flood!"u8),
                1 => Frame.Settings(),
                2 => Frame.Priority(1),
                3 => Frame.PriorityUpdate(1, "u=1"),
                _ => Frame.WindowUpdate(0, 1),
            });
        }

        Say([.. frames]);
        _rudeEndAtMs = World.NowMs;
        _window += FloodFrames;
        long sendingMs = FloodFrames * 17L * (World.Shape.PaceMs + World.Shape.LatencyMs + 1);
        ExpectEnd(World.Shape.HttpLimits.KeepAlive + TimeSpan.FromMilliseconds(sendingMs), "a flood");
    }

    /// <summary>From when the server has everything, and we too: it is its move.</summary>
    private void ExpectDeadline()
    {
        if (!HasReceivedAll || !HasSentAll || _allSaidAtMs != long.MaxValue)
        {
            return;
        }

        _allSaidAtMs = World.NowMs;
        if (PeerBehaviour == PeerBehaviour.Stays)
        {
            ExpectEnd(World.Shape.HttpLimits.KeepAlive, "the deadline for a next request");
        }
    }
}
