using System.Diagnostics;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;

namespace Millrace.HttpServer.Upstreams;

/// <summary>
/// One request to an upstream and its response. The session that began it writes the request's body as the upstream takes it, and takes the
/// response as its client takes it; after each call it looks at the phase again. Reused after <see cref="Release"/>. Reactor thread only.
/// </summary>
internal sealed class UpstreamExchange : BodyStream
{
    /// <summary>An estimate of what it holds: the head's ranges, the request, itself.</summary>
    public const int StateBytes = 6 * 1024;

    /// <summary>Unsent bytes of the request's body beyond which the session waits.</summary>
    private const int UnsentBytesMax = 128 * 1024;

    /// <summary>Informational responses of one exchange; a server that sends more does so without end.</summary>
    private const int InformationalMax = 32;

    private readonly UpstreamPool _pool;
    private readonly ResponseBodyReader _body = new();
    private readonly UpstreamRequestCopy _request = new();
    private UpstreamConnection? _connection;
    private int _headBytes;
    private int _scanned;
    private int _informational;
    private bool _isRequestEnded;
    private bool _hasWritten;
    private bool _wasRetried;
    private bool _isInCall;
    private bool _isReused;
    private bool _isReset;

    /// <summary>Whether bytes of the upstream have gone through the tunnel.</summary>
    private bool _hasCarried;

    /// <summary>When the upstream learns that the client has ended its direction of the tunnel; the largest value for never.</summary>
    private long _tunnelEndMs = long.MaxValue;

    public UpstreamExchange(UpstreamPool pool)
    {
        _pool = pool;
        WaitingNode = new LinkedListNode<UpstreamExchange>(this);
    }

    /// <summary>What the session can do now.</summary>
    public UpstreamPhase Phase { get; private set; } = UpstreamPhase.Released;

    /// <summary>The head of the response, or of an informational response; valid in these phases until <see cref="TakeHead"/>.</summary>
    public ResponseHead Head { get; } = new();

    /// <summary>What <see cref="Head"/> was parsed from.</summary>
    public ReadOnlySpan<byte> HeadBytes =>
        Phase is UpstreamPhase.Informational or UpstreamPhase.Head ? Input[.._headBytes] : default;

    /// <summary>Why there is no response, or not all of it: valid in <see cref="UpstreamPhase.Failed"/>.</summary>
    public UpstreamFailure Failure { get; private set; }

    /// <summary>The address that was asked last; null if none was.</summary>
    public UpstreamPeer? Peer { get; internal set; }

    /// <summary>How many bytes of the request's body the upstream takes now: 0 while it is connected to, or behind.</summary>
    public int BodyRoom =>
        _connection is null || _isRequestEnded ? 0 : (int)Math.Max(0, UnsentBytesMax - _connection.Socket.UnsentBytes);

    public override ReadOnlySpan<byte> Available => Phase switch
    {
        UpstreamPhase.Body => Input[.._body.AvailableBytes],
        UpstreamPhase.Tunnel => Input[..(int)Math.Min(Input.Length, _body.TunnelBytesLeft)],
        _ => default,
    };

    public override BodyStreamState State => Phase switch
    {
        UpstreamPhase.Failed => BodyStreamState.Failed,
        UpstreamPhase.Complete => BodyStreamState.Complete,
        UpstreamPhase.Body when _body.IsLast => BodyStreamState.Complete,
        UpstreamPhase.Tunnel when _body.HasInputEnded => BodyStreamState.Complete,
        _ => BodyStreamState.Open,
    };

    public override long RemainingBytes => Phase == UpstreamPhase.Body ? _body.RemainingBytes : -1;

    public override ReadOnlySpan<byte> TrailerLines => Phase == UpstreamPhase.Complete ? _body.TrailerLines : default;

    /// <summary>Whether nothing is sent before <see cref="Decide"/>.</summary>
    public bool IsHeld => _request.IsHeld;

    /// <summary>The attempt to connect that was made for it, while it waits for a connection; null if there is none.</summary>
    internal UpstreamConnection? Attempt { get; set; }

    internal LinkedListNode<UpstreamExchange> WaitingNode { get; }
    internal long WaitsUntilMs { get; set; }
    internal bool CountsAsQueued { get; set; }

    /// <summary>The address that it could not connect to, and how many there were.</summary>
    internal PeerConnections? FailedPeer { get; set; }
    internal int FailedConnects { get; set; }

    /// <summary>Whether a connection that served others may serve it: not after one of them has failed.</summary>
    internal bool MayReuse => !_wasRetried;

    /// <summary>Null if the client does not get the bytes of the body unchanged.</summary>
    public IBodyDestination? Destination { get; set; }

    /// <summary>How many of the next bytes are of the body, and taken by the destination; 0 if that is not known.</summary>
    internal long MovableBytes =>
        Phase == UpstreamPhase.Body && Input.IsEmpty ? Math.Clamp(_body.RemainingBytes, 0, Destination!.RoomBytes) : 0;

    private Connection Socket => _connection!.Socket;
    private UpstreamCounters Counters => _connection?.Peer.Counters ?? _pool.Counters;
    private ReadOnlySpan<byte> Input => _connection is null ? default : Socket.Input;

    /// <summary>The head was passed on: the next head, the body or the tunnel follows.</summary>
    public void TakeHead()
    {
        Debug.Assert(Phase is UpstreamPhase.Informational or UpstreamPhase.Head);
        _isInCall = true;
        Socket.Consume(_headBytes);
        _scanned = 0;
        if (Phase == UpstreamPhase.Informational)
        {
            Phase = UpstreamPhase.Waiting;
        }
        else if (Head.Status == 101)
        {
            Phase = UpstreamPhase.Tunnel;
            _isRequestEnded = false;
        }
        else
        {
            Phase = UpstreamPhase.Body;
            _body.Begin(Head);
        }

        Advance();
        RestartDeadline();
        _connection?.Continue();
        _isInCall = false;
    }

    /// <summary>Sends a request that was held; a body follows as chunks, if there is one.</summary>
    public void Decide(bool hasBody)
    {
        _isRequestEnded = !hasBody;
        _request.Decide(hasBody);
        _pool.Place(this);
    }

    /// <summary>
    /// Writes a part of the request's body; at most <see cref="BodyRoom"/> bytes. They are sent at the end of the reactor's iteration. In a
    /// tunnel: bytes for the upstream.
    /// </summary>
    public void WriteBody(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty || _connection is null)
        {
            return;
        }

        Debug.Assert(!_isRequestEnded);
        _hasWritten = true;
        bool isTunnel = Phase == UpstreamPhase.Tunnel;
        if (UpstreamOutput.WriteBody(Socket, bytes, isTunnel ? null : _request) is { } failure)
        {
            FailLater(failure);
        }
        else if (isTunnel)
        {
            RestartDeadline();
        }
    }

    /// <summary>Ends the request's body, with its trailer lines; in a tunnel, ends the direction to the upstream.</summary>
    public void EndBody(ReadOnlySpan<byte> trailerLines)
    {
        if (_isRequestEnded || _connection is null)
        {
            return;
        }

        _isInCall = _isRequestEnded = true;
        if (Phase == UpstreamPhase.Tunnel)
        {
            _tunnelEndMs = _tunnelEndMs == long.MaxValue ? _pool.Reactor.NowMs : _tunnelEndMs;
            EndTunnelOutputIfDue();
        }
        else if (_request.Body == BodyFraming.Chunked)
        {
            _hasWritten = true;
            if (!UpstreamOutput.TryEndBody(Socket, trailerLines))
            {
                FailLater(UpstreamOutput.NoMemory);
            }
        }

        RestartDeadline();
        Advance();
        _isInCall = false;
    }

    /// <summary>Ends the direction of a tunnel to the upstream, after a time in which that may end the tunnel itself.</summary>
    public void EndTunnelSoon()
    {
        if (!_isRequestEnded)
        {
            _tunnelEndMs = _pool.Reactor.NowMs + (long)_pool.Options.TunnelEndDelay.TotalMilliseconds;
            EndBody(default);
        }
    }

    public override void Consume(int count)
    {
        if (count == 0 || _connection is null)
        {
            return;
        }

        _isInCall = true;
        Socket.Consume(count);
        _hasCarried |= Phase == UpstreamPhase.Tunnel;
        _body.Consume(count);
        Advance();
        _connection?.Continue();
        _isInCall = false;
    }

    /// <summary>If request or response are not complete, the connection to the upstream is closed.</summary>
    public override void Release()
    {
        if (Phase == UpstreamPhase.Released)
        {
            return;
        }

        Phase = UpstreamPhase.Released;
        (Progressed, Destination, Attempt, FailedPeer) = (null, null, null, null);
        _pool.Withdraw(this);
        LeaveConnection(mayServeOn: false, isCut: true);
        _request.Clear();
        _pool.Return(this);
    }

    internal void Start(in UpstreamRequest request, Action progressed)
    {
        Debug.Assert(Phase == UpstreamPhase.Released && _connection is null && Attempt is null);
        _request.Set(request);
        Progressed = progressed;
        Phase = UpstreamPhase.Waiting;
        Failure = default;
        Peer = null;
        FailedConnects = _headBytes = _scanned = _informational = 0;
        _isRequestEnded = request.Body == BodyFraming.None;
        _hasWritten = _wasRetried = _hasCarried = false;
        _tunnelEndMs = long.MaxValue;
    }

    /// <summary>Sends the request.</summary>
    internal void Attach(UpstreamConnection connection, bool isReused)
    {
        _connection = connection;
        Peer = connection.Peer.Peer;
        (_isReused, _isReset) = (isReused, false);
        Attempt = null;
        _body.Reset();
        if (!UpstreamOutput.TryWriteHead(Socket, _request, connection.Peer.Peer.Target.Authority.Span))
        {
            FailLater(UpstreamOutput.NoMemory);
            return;
        }

        RestartDeadline();
        if (!_isRequestEnded)
        {
            NotifyLater();
        }
    }

    /// <summary>There is no connection or memory for it. It may be called within the session's calls, and within those of others.</summary>
    internal void FailLater(UpstreamFailure failure)
    {
        Attempt = null;
        Fail(failure);
        NotifyLater();
    }

    internal void OnMoved(int bytes)
    {
        _body.Skip(bytes);
        Destination!.OnMoved(bytes, isLast: _body.RemainingBytes == 0);
    }

    internal void OnInput()
    {
        EndTunnelOutputIfDue();
        Advance();
        Notify();
        RestartDeadline();
    }

    internal void OnInputEnded(bool isReset)
    {
        _body.HasInputEnded = true;
        _isReset = isReset;
        bool mayRetry = Phase == UpstreamPhase.Waiting && _informational == 0 && Input.IsEmpty
            && _isReused && !_hasWritten && !_wasRetried && _request.Method.IsIdempotent();
        if (mayRetry)
        {
            _wasRetried = true;
            Counters.Retried++;
            LeaveConnection(mayServeOn: false, isCut: true);
            _pool.Place(this);
            return;
        }

        Advance();
        Notify();
    }

    internal void OnTimeout()
    {
        if (_pool.Reactor.NowMs >= _tunnelEndMs)
        {
            OnInput();
            return;
        }

        bool waitsForClient = Phase is UpstreamPhase.Informational or UpstreamPhase.Head
            || (Phase != UpstreamPhase.Tunnel && (!_isRequestEnded || !Available.IsEmpty));
        if (waitsForClient || (Phase == UpstreamPhase.Waiting && _connection is { } connection && connection.IsTaking()))
        {
            RestartDeadline();
            return;
        }

        Counters.TimedOut++;
        Fail(new UpstreamFailure(504, Phase == UpstreamPhase.Waiting
            ? "the upstream did not respond in time"
            : "the upstream was silent for too long within its response"));
        Notify();
    }

    /// <summary>The kernel has taken what was written, so that there is room.</summary>
    internal void NoteSent()
    {
        if (!_isRequestEnded)
        {
            NotifyLater();
        }
        else if (Phase == UpstreamPhase.Waiting && Socket.UnsentBytes == 0)
        {
            // The time to respond begins with the whole request.
            RestartDeadline();
        }
    }

    /// <summary>Its connection ends by an error of this process.</summary>
    internal void OnConnectionLost()
    {
        Fail(new UpstreamFailure(502, _connection?.Socket.Filters.Failure?.Message ?? "the connection to the upstream failed"));
        NotifyLater();
    }

    internal void RestartDeadline() => _connection?.SetDeadline(_pool.Options.DeadlineOf(Phase), _tunnelEndMs);

    /// <summary>Reads on as far as the input and the session's calls allow.</summary>
    private void Advance()
    {
        switch (Phase)
        {
            case UpstreamPhase.Waiting when _connection is not null:
                ReadHead();
                break;
            case UpstreamPhase.Body:
                ReadBody();
                break;
            case UpstreamPhase.Tunnel when _body.HasInputEnded && Available.IsEmpty && _isReset && !_hasCarried:
                Fail(new UpstreamFailure(502, "the upstream reset the connection"));
                break;
            case UpstreamPhase.Tunnel when _body.HasInputEnded && Available.IsEmpty && (_isReset || _isRequestEnded):
                // Applications reset a WebSocket behind its last frame, which a reset towards the client could destroy: it ends in order.
                Phase = UpstreamPhase.Complete;
                Socket.Consume(Input.Length);
                LeaveConnection(mayServeOn: false, isCut: false);
                break;
        }
    }

    private void ReadHead()
    {
        ReadOnlySpan<byte> input = Input;
        HeadLimits limits = HeadLimits.Default;
        HeadResult result = ResponseHeadParser.MayBeDecided(input, _scanned, limits)
            ? ResponseHeadParser.Parse(input, Head, _request.Method == Method.Head, limits)
            : HeadResult.Incomplete;
        if (result.IsRefused)
        {
            FailMalformed($"the response's head is malformed: {result.Refusal}");
        }
        else if (!result.IsComplete)
        {
            _scanned = input.Length;
            if (_body.HasInputEnded)
            {
                Fail(new UpstreamFailure(502, Socket.Filters.Failure?.Message
                    ?? $"the upstream closed the connection {(input.IsEmpty ? "before its response" : "within the response's head")}"));
            }
        }
        else if (Head.Status == 101 ? !_request.IsUpgrade : Head.IsInformational && ++_informational > InformationalMax)
        {
            FailMalformed(Head.Status == 101 ? "a 101 response that was not asked for" : "too many informational responses");
        }
        else
        {
            _headBytes = result.Consumed;
            _connection!.SetUpstreamsIdleTime(Head.KeepAliveSeconds(input));
            Phase = Head.IsInformational && Head.Status != 101 ? UpstreamPhase.Informational : UpstreamPhase.Head;
        }
    }

    private void ReadBody()
    {
        BodyProgress progress = _body.Advance(Input, _isReset, out int framing);
        if (framing > 0)
        {
            Socket.Consume(framing);
        }

        switch (progress)
        {
            case BodyProgress.Complete:
                Phase = UpstreamPhase.Complete;
                LeaveConnection(mayServeOn: Head.KeepAlive, isCut: !_isRequestEnded || _request.MissingBodyBytes > 0);
                break;
            case BodyProgress.Malformed:
                FailMalformed($"the response's chunks are malformed: {_body.Refusal}");
                break;
            case BodyProgress.Cut:
                Fail(new UpstreamFailure(502, "the upstream closed the connection within its response"));
                break;
        }
    }

    /// <summary>
    /// Without an end of one direction, the tunnel ends as a whole: the client still gets what has arrived, and nothing of what the
    /// upstream sends on. While that sends, no deadline ends a read, so that this is called for input too.
    /// </summary>
    private void EndTunnelOutputIfDue()
    {
        if (_pool.Reactor.NowMs >= _tunnelEndMs)
        {
            _tunnelEndMs = long.MaxValue;
            if (!_connection!.TryEndOutput())
            {
                _body.EndTunnel(Input.Length);
            }
        }
    }

    private void FailMalformed(string reason)
    {
        Counters.Malformed++;
        Fail(new UpstreamFailure(502, reason));
    }

    private void Fail(UpstreamFailure failure)
    {
        Counters.Failed++;
        _pool.Group.Log.NoteFailure(_connection?.Peer.Peer.Text ?? _pool.Group.Text, failure, _pool.Reactor.NowMs);
        Failure = failure;
        Phase = UpstreamPhase.Failed;
        LeaveConnection(mayServeOn: false, isCut: true);
    }

    private void LeaveConnection(bool mayServeOn, bool isCut)
    {
        if (_connection is { } connection)
        {
            _connection = null;
            connection.Leave(this, mayServeOn, isCut);
        }
    }

    /// <summary>Tells the session, unless it is within a call of it, after which it looks itself.</summary>
    private void Notify()
    {
        if (!_isInCall)
        {
            Progressed?.Invoke();
        }
    }

    /// <summary>Tells the session at the end of the iteration: another session may be on the stack.</summary>
    private void NotifyLater() => _pool.Reactor.Defer(static exchange => ((UpstreamExchange)exchange!).Progressed?.Invoke(), this);
}
