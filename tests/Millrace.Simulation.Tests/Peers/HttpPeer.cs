using System.Globalization;
using System.Text;
using Millrace.Engine.Listening;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Kernel;
using Millrace.Simulation.Tests.Runs;
using Millrace.Simulation.Tests.Upstreams;

namespace Millrace.Simulation.Tests.Peers;

/// <summary>A client of the sites: sends requests, as many at once as it likes, and knows what each must be answered with.</summary>
internal sealed partial class HttpPeer : Peer
{
    private const int HeadBytesMax = 4096;
    private const int FloodExchanges = 4_000;

    private readonly List<Exchange> _exchanges = [];
    private readonly List<long> _beganAtMs = [];
    private readonly int _pipelined;
    private readonly byte[] _head = new byte[HeadBytesMax];
    private readonly Expectations _expectations;
    private readonly Trickle _trickle;
    private readonly long _trickledFrom;
    private int _headBytes;
    private Response? _current;
    private ChunkReader? _chunks;
    private int _piece;
    private int _pieceBytes;
    private int _answered;
    private int _sending;
    private int _sentOfRequest;
    private int _requestsSent;
    private long _delivered;
    private bool _wasReportedOfEnd;
    private long _trickleAtMs;
    private bool _hasTrickled;
    private long _lastRequestAtMs = long.MaxValue;
    private long _lastRequestBegunAtMs;
    private long _requestBeforeAtMs = long.MaxValue;

    public HttpPeer(World world, SimulationRun run, int number, PeerBehaviour behaviour, ExchangeGenerator exchanges, PeerSeal? seal)
        : base(world, run, number, behaviour, seal)
    {
        _expectations = new Expectations(world, run);
        int most = world.Random.Pick<int>(1, 4, 10) * (run.Upstreams is null ? 1 : 4);
        int count = world.Random.Between(1, most);
        for (int i = 0; i < count; i++)
        {
            _exchanges.Add(exchanges.Draw(number, i));
        }

        AddTunnels(exchanges);
        switch (behaviour)
        {
            case PeerBehaviour.Trickles:
                _exchanges.Add(ExchangeGenerator.Trickled());
                break;
            case PeerBehaviour.StallsBody:
                _exchanges.Add(ExchangeGenerator.Stalled());
                break;
            case PeerBehaviour.Floods:
                _exchanges.AddRange(Enumerable.Repeat(_exchanges[0], FloodExchanges));
                _exchanges[0].Proxied?.Sends += FloodExchanges;
                break;
            case PeerBehaviour.Polite when !EndsWithTunnel && world.Random.Chance(300):
                _exchanges.Add(exchanges.DrawLast());
                break;
        }

        _pipelined = behaviour == PeerBehaviour.Floods ? int.MaxValue : 1;
        if (world.Swarm.Has(FaultKind.Pipelines) && behaviour != PeerBehaviour.Floods)
        {
            _pipelined = world.Random.Between(1, 8);
            world.Count(FaultKind.Pipelines, number);
        }

        _trickle = new Trickle(world);
        _trickledFrom = _exchanges.Take(_exchanges.Count - 1).Sum(static exchange => exchange.Request.Length);
    }

    protected override ReadOnlySpan<byte> Outgoing
    {
        get
        {
            if (_tunnel is { } tunnel)
            {
                return tunnel.Up.Span[tunnel.ClientSent..];
            }

            if (_sending == _exchanges.Count || _sending - _answered >= _pipelined)
            {
                return default;
            }

            ReadOnlySpan<byte> left = _exchanges[_sending].Request.AsSpan(_sentOfRequest);
            if (!IsTrickling)
            {
                return left;
            }

            // When nothing else is under way, and a little at a time.
            bool isDue = _answered == _sending && World.NowMs >= _trickleAtMs && !_wasReportedOfEnd;
            return isDue ? left[..Math.Min(left.Length, _trickle.PieceBytes)] : default;
        }
    }

    protected override bool HasDeadlines => true;

    protected override bool HasSentAll => _sending == _exchanges.Count && HasSentTunnel;

    protected override bool IsOwed => _tunnel is { } tunnel
        ? IsReading && tunnel.IsOwed
        : _requestsSent > _answered && IsReading && !_wasReportedOfEnd;

    protected override bool OwesHanging => IsOwed && _exchanges[_answered].Proxied is { Hangs: true };

    protected override bool IsBetweenResponses => _current is null && _headBytes == 0;

    protected override bool HasReceivedAll => _answered == _exchanges.Count;

    /// <summary>The end of a tunnel needs no word, and is judged by itself.</summary>
    protected override bool WasReportedOfEnd => _wasReportedOfEnd || _tunnel is not null;

    /// <summary>A request that met the end of the pause before it: the answers to those before had taken as long as the pause.</summary>
    protected override bool MayHaveComeLate =>
        World.NowMs - _lastRequestBegunAtMs <= World.Shape.SlackMs
        && _lastRequestBegunAtMs - _requestBeforeAtMs >= (long)World.Shape.HttpLimits.KeepAlive.TotalMilliseconds - World.Shape.SlackMs;

    protected override bool MayBreak => MayBeCut || MayBreakForFile || MayBreakForTunnel;

    /// <summary>A length is not reached, or the last chunk is missing.</summary>
    protected override bool IsCutWithin => MayBeCut && _current is { IsOfUpstream: true };

    /// <summary>A reset destroys answers before that which was cut, too.</summary>
    private bool MayBeCut => _exchanges.Take(_beganAtMs.Count).Skip(_answered).Any(static exchange => exchange.Proxied is { MayBeCut: true });

    /// <summary>A file that is cut off, or cannot be looked at, can end the connection within its answer.</summary>
    private bool MayBreakForFile =>
        _answered < _beganAtMs.Count
        && (World.Disk.ShrunkSizes.Count > 0 || World.Disk.HasRefusedSince(_beganAtMs[_answered]))
        && _exchanges.Take(_beganAtMs.Count).Skip(_answered).Any(static exchange => exchange.Content is not null);

    protected override SimulatedListener Listener => IsSealed ? Run.SealedListener : Run.HttpListener;

    private bool IsTrickling => PeerBehaviour == PeerBehaviour.Trickles && _sending == _exchanges.Count - 1;

    /// <summary>The server must not end an idle connection before that.</summary>
    protected override long EarliestEndMs => PeerBehaviour switch
    {
        PeerBehaviour.Stays => _lastRequestAtMs + (long)World.Shape.HttpLimits.KeepAlive.TotalMilliseconds,
        PeerBehaviour.StallsBody =>
            _lastRequestBegunAtMs + (long)Sooner(World.Shape.HttpLimits.Body, World.Shape.HttpLimits.ReceiveStall).TotalMilliseconds,
        _ => 0,
    };

    public override void OnDelivered(int count)
    {
        _delivered += count;
        if (IsTrickling && _delivered > _trickledFrom)
        {
            _trickle.OnDelivered(count);
        }
    }

    public override void OnServerSends()
    {
        if (IsTrickling)
        {
            _trickle.OnAnswered();
        }
    }

    protected override void OnSent(int count)
    {
        if (_tunnel is not null)
        {
            OnTunnelSent(_tunnel, count);
            return;
        }

        if (_sentOfRequest == 0)
        {
            _beganAtMs.Add(World.NowMs);
            _lastRequestBegunAtMs = World.NowMs;
            _requestBeforeAtMs = _lastRequestAtMs;
        }

        _sentOfRequest += count;
        if (IsTrickling)
        {
            BeginTrickle();
        }

        // A server that stops has said its last word to this one, and drops what still comes.
        // What comes after a last answer, that of a failing disk say, is received to be dropped.
        if (Socket.ReceivedBytes > FloodBytesMax && !World.IsStopping && !Socket.MayBreak)
        {
            Fail(string.Create(CultureInfo.InvariantCulture, $"The server took {Socket.ReceivedBytes} bytes of one who reads no answers, where {FloodBytesMax} are the most."));
        }

        if (_sentOfRequest < _exchanges[_sending].Request.Length)
        {
            return;
        }

        if (_requestsSent == _answered)
        {
            NoteProgress();
        }

        _requestsSent++;
        _sending++;
        _sentOfRequest = 0;
        _lastRequestAtMs = World.NowMs;
    }

    protected override void OnSentAll()
    {
        ExpectDeadline();
        base.OnSentAll();
    }

    protected override void Take(ReadOnlySpan<byte> bytes)
    {
        while (bytes.Length > 0 && !World.HasFailed)
        {
            bytes = _tunnel is not null ? TakeTunnel(_tunnel, bytes) : _current is null ? TakeHead(bytes) : _chunks is null ? TakeContent(bytes) : TakeChunks(_chunks, bytes);
        }
    }

    /// <summary>What the limits let in before an answer must have been read: the input, what is received meanwhile, what is answered.</summary>
    private long FloodBytesMax
    {
        get
        {
            RunShape shape = World.Shape;
            long received = shape.Limits.InputHighWaterBytes + (shape.ReceiveBuffers * (long)shape.ReceiveBufferBytes) + (64 * 1024);
            // One more is answered while a byte less than the bound is unsent.
            long answered = shape.HttpLimits.UnsentBytesMax + shape.ResponseBytesMax + (4L * shape.ChunkBytes);

            // A request is at most three times its answer.
            return PeerBehaviour == PeerBehaviour.Floods ? received + (3 * answered) : long.MaxValue;
        }
    }

    /// <summary>Silence counts by itself, and is noticed within five quarters of what it may last.</summary>
    private TimeSpan BodyDeadline => Sooner(World.Shape.HttpLimits.Body, World.Shape.HttpLimits.ReceiveStall * 1.25);

    private static TimeSpan Sooner(TimeSpan one, TimeSpan other) => one < other ? one : other;

    private void BeginTrickle()
    {
        if (!_hasTrickled)
        {
            _hasTrickled = true;
            ExpectEnd(World.Shape.HttpLimits.Head, "the deadline for a head");
            _lastRequestAtMs = World.NowMs;
        }

        if (_trickle.IsOverdue && !Socket.MayBreak && !Socket.IsClosed && !Socket.DownlinkEnded)
        {
            Fail("A head comes too slowly, and the connection is still there.");
        }

        _trickleAtMs = World.NowMs + _trickle.PauseMs;
        KickIn(_trickle.PauseMs);
    }

    private ReadOnlySpan<byte> TakeHead(ReadOnlySpan<byte> bytes)
    {
        int count = Math.Min(bytes.Length, HeadBytesMax - _headBytes);
        bytes[..count].CopyTo(_head.AsSpan(_headBytes));
        int from = Math.Max(0, _headBytes - 3);
        int end = _head.AsSpan(from, _headBytes + count - from).IndexOf("\r\n\r\n"u8);
        if (end < 0)
        {
            _headBytes += count;
            if (_headBytes == HeadBytesMax)
            {
                FailHead("never ends");
            }

            return bytes[count..];
        }

        int headBytes = from + end + 4;
        ReadOnlySpan<byte> rest = bytes[(headBytes - _headBytes)..];
        _headBytes = headBytes;
        TakeWholeHead(_head.AsSpan(0, headBytes));
        _headBytes = 0;
        return rest;
    }

    private void TakeWholeHead(ReadOnlySpan<byte> head)
    {
        if (_answered == _exchanges.Count || (_sending == _answered && _sentOfRequest == 0))
        {
            FailHead("answers nothing that was asked");
            return;
        }

        if (head.StartsWith("HTTP/1.1 1"u8) && _exchanges[_answered].Proxied is { Interims: > 0 })
        {
            return;
        }

        Response expected = _exchanges[_answered].Response;
        if (Socket.Admission == AdmissionResult.Refused)
        {
            expected = ExchangeGenerator.Refused(expected, _exchanges[_answered].Proxied);
        }
        else if (head.StartsWith("HTTP/1.1 408 "u8) && expected.Status != 408 && Socket.MayBreak)
        {
            // The clock has leapt while a head was on its way.
            expected = ExchangeGenerator.Trickled().Response;
        }
        else if (head.StartsWith("HTTP/1.1 500 "u8) && _exchanges[_answered].Proxied is null && (Socket.MayBreak || MayBreak))
        {
            // The disk failed, or the file changed in each attempt, before anything of the response was sent.
            expected = ExchangeGenerator.Unreadable;
        }
        else
        {
            expected = _expectations.ResponseOf(_exchanges[_answered], _beganAtMs[_answered], head);
        }

        string? wrong = expected.Check(head, out Response response);
        bool ends = head.IndexOf("\r\nConnection: close\r\n"u8) >= 0;
        wrong ??= expected.Ends && !ends ? "does not say that it is the last"
            : ends && !expected.Ends && !expected.MayEnd && !World.IsStopping ? "says that it is the last, without a reason"
            : expected.Status == 408 && World.NowMs < EarliestTimeoutMs && !_trickle.WasTooSlow && !Socket.MayBreak ? "comes before its time"
            : null;
        if (wrong is not null)
        {
            FailHead(wrong);
            return;
        }

        if (response.Status == 101)
        {
            BeginTunnel(_exchanges[_answered].Proxied!.Tunnel!);
            return;
        }

        _wasReportedOfEnd |= ends;
        _piece = _pieceBytes = 0;
        _current = response;
        _chunks = response.BringsContent && head.IndexOf("\r\nTransfer-Encoding: chunked\r\n"u8) >= 0 ? new ChunkReader() : null;
        if (_chunks is null && head.IndexOf("\r\nContent-Length: "u8) < 0 && response is { BringsContent: true, IsOfUpstream: true })
        {
            FailHead("has no end");
        }

        SkipEmpty();
    }

    private long EarliestTimeoutMs => _lastRequestAtMs + (long)World.Shape.HttpLimits.Head.TotalMilliseconds;

    private ReadOnlySpan<byte> TakeChunks(ChunkReader chunks, ReadOnlySpan<byte> bytes)
    {
        int count = chunks.Read(bytes, out ReadOnlySpan<byte> content);
        int expected = _current!.Content[0].Length - _pieceBytes;
        if (chunks.Wrong is { } wrong)
        {
            Fail($"Answer {_answered} {wrong}.");
        }
        else if (content.Length > expected || (chunks.IsComplete && expected > 0))
        {
            Fail(string.Create(CultureInfo.InvariantCulture, $"Answer {_answered} ends at {_pieceBytes + content.Length}, {expected} bytes before its end."));
        }
        else
        {
            TakeContent(content);
        }

        return bytes[count..];
    }

    private ReadOnlySpan<byte> TakeContent(ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> expected = _current!.Content[_piece].Span[_pieceBytes..];
        int count = Math.Min(bytes.Length, expected.Length);
        int same = bytes[..count].CommonPrefixLength(expected);
        if (same < count)
        {
            Fail(string.Create(
                CultureInfo.InvariantCulture, $"Answer {_answered} has a foreign byte in its content, at {_pieceBytes + same} of piece {_piece}."));
        }

        _pieceBytes += count;
        SkipEmpty();
        return bytes[count..];
    }

    /// <summary>Goes on to where the next byte belongs, and past the end of the answer.</summary>
    private void SkipEmpty()
    {
        Response response = _current!;
        while (_chunks is null && response.BringsContent && _piece < response.Content.Count && _pieceBytes == response.Content[_piece].Length)
        {
            _piece++;
            _pieceBytes = 0;
        }

        bool isWhole = _chunks is null ? !response.BringsContent || _piece == response.Content.Count : _chunks.IsComplete;
        if (!isWhole)
        {
            return;
        }

        if (response.IsOfUpstream && !_exchanges[_answered].Proxied!.Attempts.Exists(static attempt => attempt.IsWhole))
        {
            Fail($"Answer {_answered} looks whole, and its upstream has not ended it.");
        }

        _chunks = null;

        _current = null;
        _answered++;
        ExpectDeadline();
    }

    /// <summary>From when the server has everything, and we too: it is its move.</summary>
    private void ExpectDeadline()
    {
        if (!HasReceivedAll || !HasSentAll)
        {
            return;
        }

        if (PeerBehaviour == PeerBehaviour.Stays)
        {
            ExpectEnd(World.Shape.HttpLimits.KeepAlive, "the deadline for a next request");
        }
        else if (PeerBehaviour == PeerBehaviour.StallsBody)
        {
            ExpectEnd(BodyDeadline, "the deadline for a body");
        }
    }

    private void FailHead(string what) =>
        Fail($"Answer {_answered} {what}: {Encoding.Latin1.GetString(_head.AsSpan(0, _headBytes)).ReplaceLineEndings("|")}\n"
            + $"  to: {Encoding.Latin1.GetString(_exchanges[Math.Min(_answered, _exchanges.Count - 1)].Request).ReplaceLineEndings("|")}");
}
