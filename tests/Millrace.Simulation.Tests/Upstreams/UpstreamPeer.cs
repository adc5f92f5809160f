using System.Runtime.InteropServices;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Kernel;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Upstreams;

/// <summary>
/// The upstream's end of one connection: reads requests, each of which has to be one that a client meant, to the last byte, and answers
/// them in pieces, with faults. What happens on it is in the exchange that it is about.
/// </summary>
internal sealed class UpstreamPeer : IScheduled, ISocketPeer
{
    private const int StepEvent = 0;
    private const int ConnectedEvent = 1;
    private const int LostEvent = 2;

    private readonly World _world;
    private readonly SimulatedUpstreams _upstreams;
    private readonly SimulatedBackend _kernel;
    private readonly int _readPiece;
    private readonly int _sendPiece;
    private readonly List<byte> _input = [];
    private UpstreamRequestReader? _request;
    private UpstreamAnswer? _answer;
    private Operation? _connect;
    private int _connectResult;
    private bool _stepIsDue;
    private bool _isConnected;
    private bool _hasEnded;
    private bool _wasDead;
    private bool _isPoisoned;
    private UpstreamAttempt? _lastAttempt;

    /// <summary>What the connection has become; null for none.</summary>
    private SimulatedTunnel? _tunnel;
    private bool _tunnelWasJudged;

    public UpstreamPeer(World world, SimulatedUpstreams upstreams, SimulatedBackend kernel, int number)
    {
        _world = world;
        _upstreams = upstreams;
        _kernel = kernel;
        Number = number;
        _readPiece = world.Random.Between(1, 2 * world.Shape.ChunkBytes);
        _sendPiece = world.Random.Between(1, world.Shape.ChunkBytes);
        int downlinkBytes = world.Random.Between(world.Shape.ChunkBytes, 4 * world.Shape.ChunkBytes);
        Socket = new SimulatedSocket(world, kernel, this, downlinkBytes, isOutbound: true);
    }

    public int Number { get; }

    public int Client => 0;

    public bool IsGone { get; private set; }

    public bool MayBeHalfOpen => _tunnel is not null;

    public SimulatedSocket Socket { get; }

    public void Connect(Operation connect, int? result)
    {
        if (result is { } ends)
        {
            _connect = connect;
            _connectResult = ends;
            _world.EventQueue.In(_world.Latency(), this, ConnectedEvent);
        }
    }

    public void Act(int eventId)
    {
        if (eventId == ConnectedEvent)
        {
            if (!_connect!.IsFinished && !_kernel.IsClosed)
            {
                _isConnected = _connectResult == 0;
                _kernel.Post(_connect, _connectResult);
            }

            return;
        }

        if (eventId == LostEvent)
        {
            if (_tunnel!.IsLost(_lastAttempt!))
            {
                Fail($"A tunnel was reset before its upstream had all that its client sent before it ended it in order: {_lastAttempt!.TunnelReceived} of {_tunnel.ClientSent} bytes.");
            }

            return;
        }

        _stepIsDue = false;
        Step();
    }

    public void Kick()
    {
        if (Socket.IsDead && !_wasDead)
        {
            // What was on its way is lost, also of an answer that was sent whole.
            _wasDead = true;
            _upstreams.NoteFault();
            if (_lastAttempt is { } attempt)
            {
                attempt.Fault ??= FaultKind.ConnectionReset;
                attempt.TunnelEnd = TunnelEnd.Reset;
                attempt.ReadsTunnel = false;
            }
        }
        else if (_tunnel is not null && Socket is { IsClosed: true, DownlinkReset: true, IsDead: false } && !_tunnelWasJudged)
        {
            _tunnelWasJudged = true;
            if (Socket.MayBreak && _lastAttempt is { TunnelEnd: TunnelEnd.None } givenUp)
            {
                // As it took too little, or by a leap of the clock: what the server has of it ends as after a reset.
                givenUp.TunnelEnd = TunnelEnd.Reset;
                givenUp.Fault ??= FaultKind.ConnectionReset;
            }

            // What ended the client's connection, if that is the reason, is seen a moment later there.
            _world.EventQueue.In(_world.Shape.LatencyMs + _world.Shape.DelayMs + 2, this, LostEvent);
        }

        if (!_stepIsDue && _isConnected)
        {
            _stepIsDue = true;
            _world.EventQueue.In(_world.Shape.PaceMs == 0 ? 0 : _world.Random.Between(1, _world.Shape.PaceMs), this, StepEvent);
        }
    }

    public void OnDelivered(int count) => Move();

    public void OnServerSends()
    {
    }

    private void Move() => _upstreams.BeSlowFor(_world.Shape.SlackMs);

    private void Step()
    {
        bool isOver = Socket.IsClosed && (_tunnel is null || Socket.DownlinkReset);
        if (isOver || Socket.IsDead)
        {
            return;
        }

        bool hasRead = Read();
        bool hasSent = Send();
        if (Socket.DownlinkEnded && Socket.Downlink.Count == 0 && _tunnel is not null)
        {
            EndTunnel(_tunnel);
            if (hasSent)
            {
                Kick();
            }
        }
        else if (Socket.DownlinkEnded && Socket.Downlink.Count == 0)
        {
            // The server has no more to ask; a tunnel has none of its own here.
            End();
        }
        else if (hasRead || hasSent)
        {
            Kick();
        }
    }

    private bool Read()
    {
        // The server may send the next request as soon as the answer is whole, while this upstream still sends what is too much.
        bool isInSurplus = _request is null && _answer is { Attempt.IsWhole: true, IsSent: false };
        int count = Math.Min(_readPiece, Socket.Downlink.Count);
        if (count == 0 || isInSurplus || _answer is { ReadsNoMore: true } || (_tunnel is not null && !_lastAttempt!.ReadsTunnel))
        {
            return false;
        }

        _input.AddRange(Socket.Downlink.Bytes[..count]);
        _world.Trace.Note(Number, TraceEvent.PeerReads, count);
        Socket.ConsumeByPeer(count);
        Move();
        Parse();
        return true;
    }

    private void Parse()
    {
        while (_input.Count > 0 && !_world.HasFailed)
        {
            if (_request is null && _answer is { IsTunnel: true } answer)
            {
                TakeTunnel(answer);
                return;
            }

            if (_request is null && _answer is { IsSent: false, Attempt.Fault: null })
            {
                // Until an answer is there whole nothing may follow its request.
                Fail("A request came before the answer to the one before it.");
                return;
            }

            if (_request is null && _answer is { Attempt.Fault: not null })
            {
                // What comes after a request whose answer never ends in order is of no use. The request itself is read to its end: a faulty
                // answer, too, begins only after it.
                _input.Clear();
                return;
            }

            _request ??= new UpstreamRequestReader(_upstreams);
            int taken = _request.Read(CollectionsMarshal.AsSpan(_input));
            _input.RemoveRange(0, taken);
            if (_request.Wrong is { } wrong)
            {
                Fail(wrong);
                return;
            }

            if (_request.Exchange is { } exchange && _answer is null)
            {
                BeginAnswer(exchange);
            }

            if (_request.IsComplete)
            {
                _answer!.OnRequestRead();
                _request = null;
                _upstreams.CountAnswered();
                Finish();
            }
            else if (taken == 0)
            {
                return;
            }
        }
    }

    private void BeginAnswer(ProxiedExchange exchange)
    {
        if (exchange.Attempts.Count >= exchange.Sends && !exchange.IsIdempotent)
        {
            Fail($"A {exchange.Method} that was sent {exchange.Sends} times came again.");
        }
        else if (exchange.Attempts.Count >= 2 * exchange.Sends)
        {
            Fail($"A {exchange.Method} that was sent {exchange.Sends} times came twice, and again.");
        }

        _answer = exchange.Tunnel is null
            ? UpstreamAnswer.Draw(_world, exchange, Number)
            : UpstreamAnswer.DrawTunnel(_world, exchange, Number, _request!.Key);
        _tunnel = exchange.Tunnel;
        _lastAttempt = _answer.Attempt;
        _world.Trace.Note(Number, TraceEvent.UpstreamAnswers, exchange.Id, _answer.Left.Length);
        exchange.Attempts.Add(_answer.Attempt);
        if (_isPoisoned)
        {
            // The server has used the connection again before it saw what was too much.
            _answer.Attempt.Fault = FaultKind.UpstreamSurplus;
        }

        _isPoisoned |= _answer.IsPoisoned;
        if (_answer.IsFaulty)
        {
            _upstreams.NoteFault();
        }

        if (_answer.Attempt.Hangs)
        {
            _upstreams.BeSlowFor(_upstreams.Shape.DeadlinesMs);
        }
    }

    private bool Send()
    {
        if (_answer is not { MayBegin: true } answer || _hasEnded || Socket.IsClosed)
        {
            return false;
        }

        if (_world.NowMs < answer.PausedUntilMs)
        {
            return false;
        }

        if (answer.TryPause(_upstreams, out int pauseMs))
        {
            _world.EventQueue.In(pauseMs, this, StepEvent);
            return false;
        }

        ReadOnlySpan<byte> left = answer.Left;
        int count = Math.Min(Math.Min(left.Length, _sendPiece), Socket.Uplink.Room);
        if (count > 0)
        {
            _world.Trace.Note(Number, TraceEvent.PeerSends, count);
            Socket.SendByPeer(left[..count]);
            answer.OnSent(count);
            _tunnel?.NoteMoved();
            Move();
        }

        if (answer.Left.IsEmpty)
        {
            Finish();
        }

        return count > 0;
    }

    /// <summary>All that is sent of an answer is sent: how it ends.</summary>
    private void Finish()
    {
        if (_answer is not { MayBegin: true, Left.IsEmpty: true } answer)
        {
            return;
        }

        switch (answer.End)
        {
            case AnswerEnd.Close when answer is { HasSwitched: true, ClosesWhole: false }:
            case AnswerEnd.Keep when answer.IsTunnel:
                EndDirection(answer);
                break;
            case AnswerEnd.Reset:
                answer.Attempt.TunnelEnd = TunnelEnd.Reset;
                answer.Attempt.ReadsTunnel = false;
                _upstreams.NoteFault();
                IsGone = true;
                Socket.ResetByPeer();
                break;
            case AnswerEnd.Close:
                End();
                answer.NoteWhole();
                break;
            case AnswerEnd.Hang:
                break;
            case AnswerEnd.Keep when _request is null:
                answer.NoteWhole();
                _answer = null;
                break;
            default:
                // It came early: whether the rest of the request is read or not, the connection has had its time.
                answer.NoteWhole();
                break;
        }
    }

    /// <summary>The upstream closes: what is sent to it from now on is answered with a reset.</summary>
    private void End()
    {
        if (_hasEnded)
        {
            return;
        }

        _hasEnded = true;
        _upstreams.NoteFault();
        IsGone = true;
        if (_lastAttempt is { } attempt)
        {
            attempt.TunnelEnd = attempt.TunnelEnd == TunnelEnd.Reset ? TunnelEnd.Reset : TunnelEnd.InOrder;
            attempt.TunnelWasEnded = true;
            attempt.ReadsTunnel = false;
        }

        Socket.EndByPeer();
    }

    private void TakeTunnel(UpstreamAnswer answer)
    {
        UpstreamAttempt attempt = answer.Attempt;
        ReadOnlySpan<byte> bytes = CollectionsMarshal.AsSpan(_input);
        if (!answer.HasSwitched)
        {
            Fail("Bytes came for a tunnel that was not one yet.");
        }
        else if (!_tunnel!.Up.Span[attempt.TunnelReceived.._tunnel.ClientSent].StartsWith(bytes))
        {
            Fail($"A foreign byte came through a tunnel, behind {attempt.TunnelReceived}.");
        }

        attempt.TunnelReceived += bytes.Length;
        _input.Clear();
    }

    /// <summary>The server has ended its direction of the tunnel, in order; the upstream ends its own when all is sent.</summary>
    private void EndTunnel(SimulatedTunnel tunnel)
    {
        if (_tunnelWasJudged)
        {
            return;
        }

        _tunnelWasJudged = true;
        if (_answer is { IsTunnel: true, HasSwitched: true } answer)
        {
            if (tunnel.WhyNoUpstreamEnd(answer.Attempt) is { } wrong && !_world.IsStopping)
            {
                Fail($"A tunnel {wrong}.");
            }

            Finish();
        }
        else
        {
            End();
        }
    }

    /// <summary>The upstream has sent all that it sends: it ends its direction, and reads on, at once or after the server.</summary>
    private void EndDirection(UpstreamAnswer answer)
    {
        if (_hasEnded || (answer.End == AnswerEnd.Keep && !_tunnelWasJudged))
        {
            return;
        }

        _hasEnded = true;
        answer.Attempt.TunnelEnd = TunnelEnd.InOrder;
        answer.Attempt.TunnelWasEnded = true;
        Move();
        Socket.EndByPeer();
    }

    private void Fail(string what) => _world.Fail(Number, what);
}
