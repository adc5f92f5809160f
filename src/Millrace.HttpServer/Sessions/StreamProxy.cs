using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Proxying;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Sessions;

/// <summary>
/// Passes the requests of one connection's streams to upstreams, and the heads of their responses back; the bodies are sent as all others.
/// The derived class knows how HTTP/2 or HTTP/3 brings the bodies of requests. Reactor thread only.
/// </summary>
internal abstract class StreamProxy<TWriter>(
    IClientConnection connection, SessionReactorState reactorState, StreamResponseWriter<TWriter> responses)
    where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
{
    private ForwardedClient? _client;

    /// <summary>When <see cref="DecideIfDue"/> is to be called next, while there are streams; the largest value for never.</summary>
    public long DecisionDueMs { get; private set; } = long.MaxValue;

    protected SessionReactorState ReactorState => reactorState;

    private static HttpVersion Version => TWriter.Coding == HeadCoding.Qpack ? HttpVersion.Http3 : HttpVersion.Http2;

    /// <summary>Begins a request to an upstream.</summary>
    public void Begin(RequestStream stream, RequestHead head, ReadOnlySpan<byte> bytes, scoped in ResponsePlan plan)
    {
        ProxyRule rule = plan.Proxy!;
        WebSocketKey key = stream.IsConnect ? WebSocketKey.Next() : default;
        _client = reactorState.ForwardedClientOf(connection, _client);

        // Bytes beyond an announced length of 0 are refused, so that nothing follows but the end.
        bool isEmpty = head.Has(FieldName.ContentLength) && head.ContentLength == 0;
        bool mayHaveBody = !stream.IsConnect && !isEmpty && (!stream.Request.IsComplete || stream.Request.Bytes > 0);
        bool isHeld = mayHaveBody && IsProbablyEmpty(stream, head);
        bool hasBody = mayHaveBody && !isHeld;
        bool isMade = reactorState.ProxyHead.TryMake(
            head, bytes, plan, _client, Version, stream.IsConnect ? key.Value : default, hasBody, isHeld, out UpstreamRequest request);
        if (!isMade || (stream.IsConnect && !request.IsUpgrade))
        {
            AbandonBody(stream);
            var error = new UnplannedError(isMade ? 501 : 400, reactorState.Planner.PrefersHtml(head, bytes));
            responses.RespondError(stream, error, includesBody: head.Method != Method.Head);
            return;
        }

        UpstreamExchange upstream = reactorState.Upstreams.PoolFor(rule).Begin(request, stream.SourceProgressed);
        ProxiedStream proxied = ProxiedOf(stream);
        proxied.Begin(upstream, head, bytes, plan, key);
        proxied.IsBodyEnded = !mayHaveBody && !stream.IsConnect;
        stream.Hold(proxied.HeadBytes);
        stream.Exchange?.BeginUpstream();
        stream.IsProxied = true;
        if (isHeld)
        {
            proxied.HeldUntilMs = reactorState.DueMs(reactorState.Limits.UndecidedBody);
            DecisionDueMs = Math.Min(DecisionDueMs, proxied.HeldUntilMs);
        }
    }

    /// <summary>Ends a stream whose client sends its body too slowly.</summary>
    public void EndIfLate(RequestStream stream)
    {
        ProxiedStream proxied = stream.Proxied!;
        if (stream.IsConnect || !proxied.IsLate(stream.Request, reactorState.NowMs, reactorState.Limits))
        {
            return;
        }

        if (proxied.HasHead)
        {
            Reset(stream, isCancel: true);
        }
        else
        {
            RespondError(stream, proxied, 408);
        }
    }

    /// <summary>Sends the requests that were held for long enough: a client may leave its side open until it has the response.</summary>
    /// <param name="streams">All streams of the connection.</param>
    public void DecideIfDue(ReadOnlySpan<RequestStream> streams)
    {
        long now = reactorState.NowMs;
        if (now < DecisionDueMs)
        {
            return;
        }

        DecisionDueMs = long.MaxValue;
        foreach (RequestStream stream in streams)
        {
            if (stream is not { IsProxied: true, Proxied: { Upstream.IsHeld: true } proxied })
            {
                continue;
            }

            if (now >= proxied.HeldUntilMs)
            {
                Decide(proxied, hasBody: true);
            }
            else
            {
                DecisionDueMs = Math.Min(DecisionDueMs, proxied.HeldUntilMs);
            }
        }
    }

    /// <summary>
    /// Sends a request that was held, as what follows its head is known: bytes, trailers, or nothing. No effect on others.
    /// </summary>
    protected static void Decide(ProxiedStream proxied, bool hasBody)
    {
        if (proxied.Upstream is { IsHeld: true } upstream)
        {
            proxied.IsBodyEnded = !hasBody;
            upstream.Decide(hasBody);
        }
    }

    /// <summary>A tunnel takes nothing before the upstream has switched to it.</summary>
    protected static int RoomOf(RequestStream stream, ProxiedStream proxied) =>
        stream.IsProxied && (!stream.IsConnect || proxied.IsTunnel) ? proxied.Upstream!.BodyRoom : 0;

    /// <summary>What belongs to the stream; made on first use, and kept.</summary>
    protected abstract ProxiedStream ProxiedOf(RequestStream stream);

    /// <summary>Whether an informational response may be written now; otherwise <see cref="Advance"/> is called again.</summary>
    protected abstract bool TryFindRoom(RequestStream stream);

    /// <summary>Passes what there is of the request's body, and its end, as far as the upstream takes it.</summary>
    protected abstract void PassBody(RequestStream stream, ProxiedStream proxied);

    /// <summary>Reads and drops the rest of a body that no upstream needs.</summary>
    protected abstract void DropBody(RequestStream stream);

    protected abstract void AbandonBody(RequestStream stream);

    /// <summary>Begins to send the body of the response.</summary>
    protected abstract void SendBody(RequestStream stream, ProxiedStream proxied);

    protected abstract void EndResponse(RequestStream stream);

    protected abstract void Reset(RequestStream stream, bool isCancel);

    /// <summary>Continues after progress of the upstream.</summary>
    protected void Advance(RequestStream stream)
    {
        ProxiedStream proxied = stream.Proxied!;
        PassBody(stream, proxied);
        while (stream.IsProxied && !proxied.HasHead)
        {
            UpstreamExchange upstream = proxied.Upstream!;
            switch (upstream.Phase)
            {
                case UpstreamPhase.Waiting:
                    return;
                case UpstreamPhase.Failed:
                    RespondError(stream, proxied, upstream.Failure.Status);
                    return;
                case UpstreamPhase.Informational when !TryFindRoom(stream):
                    return;
                case UpstreamPhase.Informational:
                    proxied.AwaitsContinue &= upstream.Head.Status != 100;
                    var informational = new ProxyResponseHead(upstream.Head, upstream.HeadBytes, FieldSet.Empty);
                    responses.WriteInformational(stream, informational, proxied.SendsVia);
                    upstream.TakeHead();
                    break;
                default:
                    BeginResponse(stream, proxied, upstream);
                    return;
            }
        }

        if (stream.IsProxied && proxied.Upstream!.State == BodyStreamState.Failed)
        {
            // A tunnel that was cut is cancelled (RFC 8441, section 5). A response must not look whole.
            Reset(stream, isCancel: proxied.IsTunnel);
        }
    }

    protected void EndBody(RequestStream stream, ProxiedStream proxied)
    {
        proxied.IsBodyEnded = true;
        if (stream.IsConnect)
        {
            proxied.Upstream!.EndTunnelSoon();
        }
        else
        {
            proxied.Upstream!.EndBody(reactorState.ProxyHead.Trailers(proxied.Trailers, proxied.ReplacedNames));
        }
    }

    /// <summary>
    /// Whether a request whose stream has not ended is one that hardly ever has a body. Its end may come in the next frame or packet, and
    /// many upstreams refuse these with a body of chunks: so that is waited for.
    /// </summary>
    private static bool IsProbablyEmpty(RequestStream stream, RequestHead head) =>
        head.Method is Method.Get or Method.Head or Method.Options or Method.Delete
        && !stream.Request.IsComplete && stream.Request.Bytes == 0 && !head.Has(FieldName.ContentLength) && !head.ExpectContinue;

    private void BeginResponse(RequestStream stream, ProxiedStream proxied, UpstreamExchange upstream)
    {
        ResponseHead head = upstream.Head;
        var response = new ProxyResponseHead(head, upstream.HeadBytes, proxied.Fields);
        bool isTunnel = head.Status == 101;
        bool isRefusal = head.Status >= 300;
        if (!response.IsValid || (stream.IsConnect && !(isTunnel ? proxied.Key.IsAccepted(head, upstream.HeadBytes) : isRefusal)))
        {
            RespondError(stream, proxied, 502);
            return;
        }

        stream.Exchange?.SetUpstream(upstream.Peer?.Text);
        bool hasBody = isTunnel || head.Body != ResponseBodyFraming.None;
        proxied.HasHead = true;
        proxied.IsTunnel = isTunnel;
        stream.Request.IsAbandoned |= stream.IsConnect && !isTunnel;
        ProxyHeadKind kind = isTunnel ? ProxyHeadKind.ExtendedConnect : ProxyHeadKind.Final;
        responses.WriteUpstreamHead(stream, response, isTunnel ? 200 : head.Status, kind, proxied.SendsVia, hasBody);
        upstream.TakeHead();
        if (!hasBody)
        {
            EndResponse(stream);
            return;
        }

        stream.Body.Begin(upstream);
        SendBody(stream, proxied);
        PassBody(stream, proxied);
    }

    /// <summary>Answers in place of the upstream, with the site's page for the status.</summary>
    private void RespondError(RequestStream stream, ProxiedStream proxied, int status)
    {
        stream.Exchange?.SetUpstream(proxied.Upstream!.Peer?.Text);
        proxied.ReleaseUpstream();
        stream.IsProxied = false;
        DropBody(stream);
        AbandonBody(stream);
        RequestHead head = reactorState.Head;
        _ = RequestHeadParser.Parse(proxied.Head, head, reactorState.HeadLimits);
        reactorState.Planner.PlanError(head, proxied.Head, status, out SiteBinding binding, out ResponsePlan plan);
        responses.Respond(stream, plan, binding, head, proxied.Head);
    }
}
