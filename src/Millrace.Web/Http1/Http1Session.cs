using Millrace.Engine;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;
using Millrace.Web.Bodies;
using Millrace.Web.Exchanges;
using Millrace.Web.Http2;

namespace Millrace.Web.Http1;

/// <summary>
/// HTTP/1.1 on one connection (RFC 9112): heads are parsed, planned and answered in order, as many as the input holds, and their
/// answers go out together. What needs no wait needs no await: a session awaits input, files, and peers that read too slowly.
/// </summary>
/// <param name="connection">The connection.</param>
/// <param name="bench">Its reactor's.</param>
/// <param name="begun">What somebody else has begun of its first exchange.</param>
internal sealed class Http1Session(Connection connection, Workbench bench, Exchange? begun = null)
{
    /// <summary>
    /// A session ends after so long a pause, and the next request begins another: thousands that wait need not keep theirs, and who clicks
    /// through a site keeps it.
    /// </summary>
    private const int RestAfterMs = 2_000;

    private WaitingFor _waitingFor;
    private long _idleEndsAtMs;
    private BodySkip _body;
    private BodySend _send;
    private Task? _preparation;
    private Exchange? _exchange = begun;
    private Verdict _verdict;
    private bool _isRevalidated;
    private bool _isPrepared;
    private bool _keepAlive = true;
    private int _scanned;

    /// <summary>Lines before the request that is awaited, which were passed over.</summary>
    private int _emptyLines;

    /// <summary>Whether its first answer is its last.</summary>
    public bool EndsAfterOne { get; init; }

    /// <summary>Serves the connection until it should end; the engine then sends what is left and lingers.</summary>
    public async Task RunAsync()
    {
        while (true)
        {
            switch (AnswerBuffered())
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
                        // Whoever still takes the last answer has not been idle: the pause begins when it is sent.
                        goto case Next.Send;
                    }

                    if (isIdle && bench.KeepAliveMs > RestAfterMs)
                    {
                        connection.RestUntil(_idleEndsAtMs);
                        return;
                    }

                    AnswerLast(outcome);
                    return;
                case Next.Send:
                    if (await connection.FlushAsync() == FlushOutcome.Closed)
                    {
                        return;
                    }

                    break;
                case Next.Relieve:
                    if (await connection.FlushAsync(bench.Limits.UnsentBytesMax / 2) == FlushOutcome.Closed)
                    {
                        return;
                    }

                    break;
                case Next.Yield:
                    connection.Flush();
                    await connection.Reactor.NextTurn();
                    break;
                case Next.Prepare:
                    // Earlier answers do not wait for this one.
                    connection.Flush();
                    await _preparation!;
                    await connection.Reactor.SwitchTo();
                    if (_preparation is Task<Verdict> verification)
                    {
                        _verdict = await verification;
                    }

                    break;
                case Next.SendBody:
                    bool isSent = await _send.RunAsync(connection);
                    ExchangeLedger.End(connection, ref _exchange);
                    if (!isSent || !_keepAlive)
                    {
                        return;
                    }

                    break;
                case Next.SpeakHttp2:
                    await new Http2Session(connection, bench).RunAsync();
                    return;
                default:
                    return;
            }
        }
    }

    /// <summary>Goes on as far as it can without waiting, and says what to wait for.</summary>
    private Next AnswerBuffered()
    {
        for (int steps = 0; steps < bench.Limits.AnswersPerTurn; steps++)
        {
            if (connection.UnsentBytes > bench.Limits.UnsentBytesMax)
            {
                return Next.Relieve;
            }

            Next next = _body.IsPending ? SkipBody() : AnswerRequest();
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
                WaitFor(WaitingFor.Body, bench.Limits.Body);
                return Next.Read;
            default:
                return Next.End;
        }
    }

    private Next AnswerRequest()
    {
        ReadOnlySpan<byte> input = connection.Input;
        if (input.IsEmpty || (input[0] == (byte)'\r' && TryPassOver(input)))
        {
            // Anew for every pause, however the one before ended.
            _waitingFor = WaitingFor.Request;
            _idleEndsAtMs = bench.NowMs + bench.KeepAliveMs;
            connection.SetReadDeadline(bench.NowMs + Math.Min(bench.KeepAliveMs, RestAfterMs));
            return Next.Read;
        }

        _exchange ??= bench.Ledger?.Begin(connection);
        RequestHead head = bench.Head;
        HeadResult result = RequestHeadParser.MayBeDecided(input, _scanned, bench.HeadLimits)
            ? RequestHeadParser.Parse(input, head, bench.HeadLimits)
            : HeadResult.Incomplete;
        if (result.IsIncomplete)
        {
            _scanned = input.Length;
            return ReadOn();
        }

        _scanned = 0;
        if (result.IsRefused)
        {
            return OfPreface(result, input) switch
            {
                PrefaceMatch.Whole => Next.SpeakHttp2,
                PrefaceMatch.Partial => ReadOn(),
                _ => Refuse(HeadRefusals.StatusOf(result.Refusal), head, result),
            };
        }

        if (bench.IsOverloaded)
        {
            connection.Reactor.NoteRefused();
            return Refuse(503, head, result);
        }

        Next next = Answer(head, input);
        if (next != Next.Prepare)
        {
            connection.Consume(result.Consumed);
        }

        return next;
    }

    /// <summary>
    /// An empty line, which old clients send behind a body (RFC 9112, section 2.2), is no beginning of a request: who has sent nothing
    /// else is idle. So many as the parser takes before a request, or they would have no end.
    /// </summary>
    private bool TryPassOver(ReadOnlySpan<byte> input)
    {
        int lines = RequestHeadParser.CountEmptyLines(input);
        if (lines == 0 || _emptyLines + lines > RequestHeadParser.EmptyLinesMax)
        {
            return false;
        }

        if (_exchange is not null)
        {
            // Half a line had come before.
            bench.Ledger!.Drop(_exchange);
            _exchange = null;
        }

        _emptyLines += lines;
        _scanned = 0;
        connection.Consume(input.Length);
        return true;
    }

    /// <summary>Writes the answer, or at least its head; decides what becomes of the request's body and the connection.</summary>
    private Next Answer(RequestHead head, ReadOnlySpan<byte> input)
    {
        SitePost post = bench.PostFor(head, input);
        if (post.Site.Revalidates && !_isRevalidated)
        {
            _isRevalidated = true;
            _preparation = bench.RevalidateAsync(post, head, input);
            return Next.Prepare;
        }

        Adoption adoption = post.AdoptLatest();
        Plan plan = bench.Plan(post, head, input, _verdict, mayWait: !_isPrepared);
        if (plan.NeedsVerification)
        {
            _preparation = bench.VerifyAsync(post, head, input);
            return Next.Prepare;
        }

        if (plan.Preparation is not null)
        {
            _isPrepared = true;
            _preparation = plan.Preparation;
            return Next.Prepare;
        }

        bench.Ledger?.Take(connection, _exchange!, head);
        _preparation = null;
        _isPrepared = false;
        _isRevalidated = false;
        _verdict = default;
        _emptyLines = 0;
        _waitingFor = WaitingFor.Nothing;
        _keepAlive = head.KeepAlive && !bench.IsDraining && !EndsAfterOne;
        bool includesBody = head.Method != Method.Head;
        if (!head.KeepAlive && head.Body == BodyFraming.None && head.Method is Method.Get or Method.Head)
        {
            // Behind "close" a client must not send more (RFC 9112, section 9.6), and in HTTP/1.0 there is nothing more (RFC 1945, section
            // 1.3). Other methods may have a body that is not announced.
            connection.ExpectNoMore();
        }

        int status = head.Body == BodyFraming.None ? plan.Status : AcceptBody(head, plan.Status);
        if (status == plan.Status)
        {
            var answer = new PlanAnswer(connection, bench, head.Version, ConnectionLine(head.Version), includesBody, _exchange);
            status = answer.Begin(plan, adoption, out _send);
        }

        if (status != plan.Status)
        {
            WritePlain(status, includesBody, head.Version);
        }

        if (_send.IsPending)
        {
            return Next.SendBody;
        }

        ExchangeLedger.End(connection, ref _exchange);
        return _keepAlive ? Next.Continue : Next.End;
    }

    /// <summary>A body nobody asked for: small ones are skipped, large ones refused, and with them the connection.</summary>
    private int AcceptBody(RequestHead head, int status)
    {
        bool tooLarge = head.Body == BodyFraming.Length && head.ContentLength > bench.Limits.SkippedBodyBytesMax;
        if (tooLarge || head.ExpectContinue)
        {
            // Who asks before sending gets the final answer and need not send (RFC 9110, 10.1.1).
            _keepAlive = false;
            return tooLarge && status < 400 ? 413 : status;
        }

        _body = BodySkip.Of(head, bench.Limits.SkippedBodyBytesMax);
        return status;
    }

    /// <summary>
    /// A client that knows of HTTP/2 without having asked (RFC 9113, section 3.3) begins with a request that none of HTTP/1.1 is. Only as
    /// the first: what comes later was sent to somebody who speaks HTTP/1.1.
    /// </summary>
    private PrefaceMatch OfPreface(HeadResult result, ReadOnlySpan<byte> input) =>
        result.Refusal == HeadRefusal.VersionNotSupported && !connection.HasConsumed ? ConnectionPreface.Match(input) : PrefaceMatch.No;

    private Next ReadOn()
    {
        WaitFor(WaitingFor.Head, bench.Limits.Head);
        return Next.Read;
    }

    private Next Refuse(int status, RequestHead head, HeadResult result)
    {
        _keepAlive = false;
        bench.Ledger?.Take(connection, _exchange!, head, result);
        WritePlain(status, includesBody: head.Method != Method.Head);
        ExchangeLedger.End(connection, ref _exchange);
        return Next.End;
    }

    private void AnswerLast(ReadOutcome outcome)
    {
        if (outcome == ReadOutcome.TimedOut && _waitingFor == WaitingFor.Head)
        {
            _keepAlive = false;
            if (bench.Ledger is { } ledger)
            {
                // Others have used the head since this one was read into it.
                ledger.Take(connection, _exchange!, bench.Head, RequestHeadParser.Parse(connection.Input, bench.Head, bench.HeadLimits));
            }

            WritePlain(408, includesBody: true);
            ExchangeLedger.End(connection, ref _exchange);
        }
    }

    private void WritePlain(int status, bool includesBody, HttpVersion version = HttpVersion.Http11) =>
        PlainAnswer.Write(connection, status, bench.DateLine, ConnectionLine(version), includesBody, _exchange);

    private ReadOnlySpan<byte> ConnectionLine(HttpVersion version) => (_keepAlive, version) switch
    {
        (true, HttpVersion.Http11) => default,
        (true, _) => "Connection: keep-alive\r\n"u8,
        _ => "Connection: close\r\n"u8,
    };

    /// <summary>Sets the deadline when a wait of this kind begins; what trickles in does not move it.</summary>
    private void WaitFor(WaitingFor what, TimeSpan most)
    {
        if (_waitingFor != what)
        {
            _waitingFor = what;
            connection.SetReadRate(bench.Limits.ReceiveBytesPerSecond, bench.Limits.ReceiveStall, most);
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
        Send,
        Relieve,
        Yield,
        Prepare,
        SendBody,
        SpeakHttp2,
        End,
    }
}
