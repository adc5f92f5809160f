using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Http2;
using Millrace.HttpServer.Sessions;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http1;

/// <summary>
/// Serves HTTP/1.1 on one connection (RFC 9112): parses, plans and answers requests in order, as many as the input holds, and sends their
/// responses together. It awaits only input, files, and clients that read too slowly. The caller may have begun the first exchange. Reactor
/// thread only.
/// </summary>
internal sealed class Http1Session(Connection connection, SessionReactorState reactorState, HttpExchange? firstExchange = null)
{
    /// <summary>
    /// The session ends after this idle time, and the next request begins a new one. Thousands of idle connections then hold no session,
    /// and a user who clicks through a site keeps it.
    /// </summary>
    private const int SessionIdleMs = 2_000;

    /// <summary>
    /// Responses before the session checks whether other connections should continue; a single request never causes a check.
    /// </summary>
    private const int ResponsesPerCheck = 4;

    private readonly ResponseBody _response = new(connection, reactorState);
    private WaitingFor _waitingFor;
    private long _idleEndsAtMs;
    private ProxiedRequest? _proxied;
    private BodySkip _body;
    private PlanPreparation? _preparation;
    private HttpExchange? _exchange = firstExchange;
    private bool _keepAlive = true;
    private int _scanned;

    /// <summary>Empty lines that were skipped before the request that is awaited.</summary>
    private int _emptyLines;

    public bool ClosesAfterFirst { get; init; }

    /// <summary>Whether the connection's certificate covers a host; null if the connection is for all hosts.</summary>
    public Func<ReadOnlySpan<byte>, bool>? IsCovered { get; init; }

    /// <summary>What else clients of the connection may use; null for nothing.</summary>
    public AlternativeService? Alternative { get; init; }

    /// <summary>Serves the connection until it should close; the engine then sends the remaining output and lingers.</summary>
    public async Task RunAsync()
    {
        while (true)
        {
            switch (ProcessBuffered())
            {
                case Next.Read:
                    connection.Flush();
                    ReadOutcome outcome = _waitingFor == WaitingFor.Request
                        ? await connection.ReadIdleAsync()
                        : await connection.ReadAsync();
                    if (outcome == ReadOutcome.Data)
                    {
                        break;
                    }

                    bool isIdle = outcome == ReadOutcome.TimedOut && _waitingFor == WaitingFor.Request;
                    if (isIdle && connection.UnsentBytes > 0)
                    {
                        // A client that still receives the last response is not idle: the idle time begins when the response is sent.
                        if (await connection.FlushAsync() == FlushOutcome.Closed)
                        {
                            return;
                        }

                        break;
                    }

                    if (isIdle && reactorState.KeepAliveMs > SessionIdleMs)
                    {
                        connection.WaitIdleUntil(_idleEndsAtMs);
                        return;
                    }

                    RespondTimedOut(outcome);
                    return;
                case Next.DrainOutput:
                    long most = Math.Min(reactorState.Limits.UnsentBytesMax, connection.UnsentBytes) / 2;
                    if (await connection.FlushAsync(most) == FlushOutcome.Closed)
                    {
                        return;
                    }

                    break;
                case Next.Yield:
                    connection.Flush();
                    await connection.Reactor.Yield();
                    break;
                case Next.Prepare:
                    // Earlier responses do not wait for this one.
                    connection.Flush();
                    await _preparation!.CompleteAsync();
                    await connection.Reactor.SwitchTo();
                    break;
                case Next.SendBody:
                    bool isSent = await _response.SendAsync();
                    ExchangeRecorder.End(connection, ref _exchange);
                    if (!isSent || !_keepAlive)
                    {
                        return;
                    }

                    break;
                case Next.Proxy:
                    ProxyOutcome proxied;
                    while ((proxied = _proxied!.Pass()).IsPending)
                    {
                        await _proxied.WaitAsync();
                    }

                    bool isAnswered = TakeProxied(proxied) && (!_response.IsPending || await _response.SendAsync());
                    ExchangeRecorder.End(connection, ref _exchange);
                    if (!isAnswered || !_keepAlive)
                    {
                        return;
                    }

                    break;
                case Next.SpeakHttp2:
                    await new Http2Session(connection, reactorState, IsCovered, Alternative).RunAsync();
                    return;
                default:
                    return;
            }
        }
    }

    /// <summary>Processes the input as far as possible without waiting, and returns what to do next.</summary>
    private Next ProcessBuffered()
    {
        for (int steps = 0; steps < reactorState.Limits.ResponsesPerIteration; steps++)
        {
            if (connection.UnsentBytes > reactorState.Limits.UnsentBytesMax || ExchangeRecorder.IsFull(connection))
            {
                return Next.DrainOutput;
            }

            if (steps > 0 && steps % ResponsesPerCheck == 0 && connection.Reactor.Budget.IsSliceOver)
            {
                break;
            }

            Next next = _body.IsPending ? SkipBody() : ProcessRequest();
            if (next != Next.Continue)
            {
                return next;
            }
        }

        return Next.Yield;
    }

    private Next SkipBody()
    {
        SkipResult result = _body.Take(connection.Input, out int consumed);
        connection.Consume(consumed);
        switch (result)
        {
            case SkipResult.Done:
                return Next.Continue;
            case SkipResult.NeedsMore:
                WaitFor(WaitingFor.Body, reactorState.Limits.Body);
                return Next.Read;
            default:
                return Next.End;
        }
    }

    private Next ProcessRequest()
    {
        ReadOnlySpan<byte> input = connection.Input;
        if (input.IsEmpty || (input[0] == (byte)'\r' && TrySkipEmptyLines(input)))
        {
            // The deadline starts again for every idle period.
            _waitingFor = WaitingFor.Request;
            _idleEndsAtMs = reactorState.NowMs + reactorState.KeepAliveMs;
            connection.SetReadDeadline(reactorState.NowMs + Math.Min(reactorState.KeepAliveMs, SessionIdleMs));
            return Next.Read;
        }

        _exchange ??= reactorState.Recorder?.Begin(connection);
        RequestHead head = reactorState.Head;
        HeadResult result = RequestHeadParser.MayBeDecided(input, _scanned, reactorState.HeadLimits)
            ? RequestHeadParser.Parse(input, head, reactorState.HeadLimits)
            : HeadResult.Incomplete;
        if (result.IsIncomplete)
        {
            _scanned = input.Length;
            return ReadMore();
        }

        _scanned = 0;
        if (result.IsRefused)
        {
            return MatchPreface(result, input) switch
            {
                PrefaceMatch.Whole => Next.SpeakHttp2,
                PrefaceMatch.Partial => ReadMore(),
                _ => Refuse(HeadRefusals.StatusOf(result.Refusal), head, result),
            };
        }

        if (reactorState.IsMisdirected(connection, IsCovered, head.Target.Scheme, head, input))
        {
            return Refuse(421, head, result);
        }

        if (connection.IsToBeRefused)
        {
            connection.Reactor.NoteRefused();
            return Refuse(503, head, result);
        }

        Next next = Respond(head, input[..result.Consumed]);
        if (next != Next.Prepare)
        {
            connection.Consume(result.Consumed);
        }

        return next;
    }

    /// <summary>
    /// Skips empty lines, which old clients send after a body (RFC 9112, section 2.2): they do not begin a request, and a client that sends
    /// nothing else is idle. The parser's maximum applies to all of them together.
    /// </summary>
    private bool TrySkipEmptyLines(ReadOnlySpan<byte> input)
    {
        int lines = RequestHeadParser.CountEmptyLines(input);
        if (lines == 0 || _emptyLines + lines > RequestHeadParser.EmptyLinesMax)
        {
            return false;
        }

        if (_exchange is not null)
        {
            // Half of an empty line had arrived and begun an exchange.
            reactorState.Recorder!.Drop(_exchange);
            _exchange = null;
        }

        _emptyLines += lines;
        _scanned = 0;
        connection.Consume(input.Length);
        return true;
    }

    /// <summary>
    /// Writes the response, or at least its head, and decides whether the request body is skipped and the connection stays open.
    /// </summary>
    private Next Respond(RequestHead head, ReadOnlySpan<byte> input)
    {
        _preparation = reactorState.Planner.Plan(connection, head, input, _preparation, out SiteBinding binding, out ResponsePlan plan);
        if (_preparation is not null)
        {
            return Next.Prepare;
        }

        reactorState.Recorder?.Record(connection, _exchange!, head, isComplete: true);
        _emptyLines = 0;
        _waitingFor = WaitingFor.Nothing;
        _keepAlive = head.KeepAlive && !reactorState.IsDraining && !ClosesAfterFirst;
        if (plan.Body == PlanBody.Upstream)
        {
            return BeginProxied(head, input, plan);
        }

        if (!head.KeepAlive && head.Body == BodyFraming.None && head.Method is Method.Get or Method.Head)
        {
            // After "close" a client must not send more (RFC 9112, section 9.6), and HTTP/1.0 has one request a connection (RFC 1945,
            // section 1.3). Other methods may have a body that is not announced.
            connection.Ending.NoteLastRequest();
        }

        // Before the writer is made: a body that is refused closes the connection.
        int status = head.Body == BodyFraming.None ? plan.Status : AcceptBody(head, plan.Status);
        var response = new ResponseWriter(connection, reactorState, _response, head, input, _keepAlive, Alternative, _exchange);
        if (status == plan.Status)
        {
            response.Begin(plan, binding);
        }
        else
        {
            response.WriteError(status);
        }

        if (_response.IsPending)
        {
            return Next.SendBody;
        }

        ExchangeRecorder.End(connection, ref _exchange);
        return _keepAlive ? Next.Continue : Next.End;
    }

    private Next BeginProxied(RequestHead head, ReadOnlySpan<byte> input, scoped in ResponsePlan plan)
    {
        _proxied ??= new ProxiedRequest(connection, reactorState) { Alternative = Alternative };
        if (_proxied.TryBegin(head, input, plan, _keepAlive, _exchange))
        {
            return Next.Proxy;
        }

        _keepAlive = false;
        bool prefersHtml = reactorState.Planner.PrefersHtml(head, input);
        WriteError(new UnplannedError(400, prefersHtml), includesBody: head.Method != Method.Head);
        ExchangeRecorder.End(connection, ref _exchange);
        return Next.End;
    }

    /// <summary>A request that was passed to its upstream is answered, or its error is. Returns false if the connection must end.</summary>
    private bool TakeProxied(ProxyOutcome outcome)
    {
        _keepAlive = _proxied!.KeepAlive;
        if (outcome.IsError)
        {
            RespondProxyError(_proxied, outcome.Status);
        }

        return outcome != ProxyOutcome.Closed;
    }

    /// <summary>Answers in place of an upstream, with the site's page for the status. The head was parsed before.</summary>
    private void RespondProxyError(ProxiedRequest proxied, int status)
    {
        RequestHead head = reactorState.Head;
        _ = RequestHeadParser.Parse(proxied.Head, head, reactorState.HeadLimits);
        reactorState.Planner.PlanError(head, proxied.Head, status, out SiteBinding binding, out ResponsePlan plan);
        var response = new ResponseWriter(connection, reactorState, _response, head, proxied.Head, _keepAlive, Alternative, _exchange);
        response.Begin(plan, binding);
    }

    /// <summary>
    /// Handles a request body that is not needed: a small body is skipped, a large one is refused and the connection closes.
    /// </summary>
    private int AcceptBody(RequestHead head, int status)
    {
        bool tooLarge = head.Body == BodyFraming.Length && head.ContentLength > reactorState.Limits.SkippedBodyBytesMax;
        if (tooLarge || head.ExpectContinue)
        {
            // A client that asks before it sends gets the final response and need not send the body (RFC 9110, section 10.1.1).
            _keepAlive = false;
            return tooLarge && status < 400 ? 413 : status;
        }

        _body = BodySkip.Of(head, reactorState.Limits.SkippedBodyBytesMax);
        return status;
    }

    /// <summary>
    /// Recognizes a client with prior knowledge of HTTP/2 (RFC 9113, section 3.3) by its preface, which is not a valid HTTP/1.1 request.
    /// The preface counts only as the first bytes of a connection.
    /// </summary>
    private PrefaceMatch MatchPreface(HeadResult result, ReadOnlySpan<byte> input) =>
        result.Refusal == HeadRefusal.VersionNotSupported && !connection.Reader.HasConsumed
            ? ConnectionPreface.Match(input)
            : PrefaceMatch.No;

    private Next ReadMore()
    {
        WaitFor(WaitingFor.Head, reactorState.Limits.Head);
        return Next.Read;
    }

    private Next Refuse(int status, RequestHead head, HeadResult result)
    {
        _keepAlive = false;
        reactorState.Recorder?.Record(connection, _exchange!, head, result.IsComplete);
        bool prefersHtml = result.IsComplete && reactorState.Planner.PrefersHtml(head, connection.Input);
        WriteError(new UnplannedError(status, prefersHtml), includesBody: head.Method != Method.Head);
        ExchangeRecorder.End(connection, ref _exchange);
        return Next.End;
    }

    private void RespondTimedOut(ReadOutcome outcome)
    {
        if (outcome == ReadOutcome.TimedOut && _waitingFor == WaitingFor.Head)
        {
            _keepAlive = false;
            if (reactorState.Recorder is { } recorder)
            {
                // Other sessions have parsed into the shared head since.
                HeadResult parsed = RequestHeadParser.Parse(connection.Input, reactorState.Head, reactorState.HeadLimits);
                recorder.Record(connection, _exchange!, reactorState.Head, parsed.IsComplete);
            }

            WriteError(new UnplannedError(408, prefersHtml: false), includesBody: true);
            ExchangeRecorder.End(connection, ref _exchange);
        }
    }

    private void WriteError(UnplannedError error, bool includesBody) =>
        ResponseWriter.WriteError(connection, reactorState, error, ResponseWriter.CloseLine, includesBody, _exchange);

    /// <summary>Sets the deadline when a wait of this kind begins; bytes that arrive during the wait do not extend it.</summary>
    private void WaitFor(WaitingFor what, TimeSpan most)
    {
        if (_waitingFor != what)
        {
            _waitingFor = what;
            connection.SetReadRate(reactorState.Limits.ReceiveBytesPerSecond, reactorState.Limits.ReceiveStall, most);
        }
    }

    private enum WaitingFor : byte
    {
        Nothing,
        Request,
        Head,
        Body,
    }

    private enum Next
    {
        Continue,
        Read,
        DrainOutput,
        Yield,
        Prepare,
        SendBody,
        Proxy,
        SpeakHttp2,
        End,
    }
}
