using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Http1;
using Millrace.HttpServer.Proxying;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// Passes the requests of one connection's streams to upstreams, and the heads of their responses back; the bodies are sent by the <see
/// cref="ResponseScheduler"/>, as all others. A stream's window is opened again as the upstream takes its data. Reactor thread only.
/// </summary>
internal sealed class Http2Proxy(
    Connection connection, SessionReactorState reactorState, SendQueue queue, Http2Streams streams, Http2ResponseWriter responses)
{
    /// <summary>
    /// The window of an upload that an upstream takes: without it, a client 50 ms away could send no more than 1.3 MB a second.
    /// </summary>
    private const int UploadWindowBytes = 256 * 1024;

    /// <summary>Whether an informational response waits until the client has taken enough of the output.</summary>
    public bool WaitsForRoom { get; private set; }

    /// <summary>Begins a request to an upstream.</summary>
    public void Begin(Http2Stream stream, RequestHead head, ReadOnlySpan<byte> bytes, scoped in ResponsePlan plan)
    {
        ProxyRule rule = plan.Proxy!;
        WebSocketKey key = stream.IsConnect ? WebSocketKey.Next() : default;
        ForwardedClient client = reactorState.ForwardedClientOf(connection);
        bool hasBody = !stream.IsConnect && (!stream.Request.IsComplete || stream.Request.Bytes > 0);
        bool isMade = reactorState.ProxyHead.TryMake(
            head, bytes, plan, client, stream.IsConnect ? key.Value : default, hasBody, out UpstreamRequest request);
        if (!isMade || (stream.IsConnect && !request.IsUpgrade))
        {
            streams.AbandonBody(stream);
            var error = new UnplannedError(isMade ? 501 : 400, reactorState.Planner.PrefersHtml(head, bytes));
            responses.RespondError(stream, error, includesBody: head.Method != Method.Head);
            return;
        }

        UpstreamExchange upstream = reactorState.Upstreams.PoolFor(rule).Begin(request, stream.SourceProgressed);
        ProxiedStream proxied = stream.Proxied ??= new ProxiedStream(stream);
        proxied.Begin(upstream, head, bytes, plan, key);
        proxied.IsBodyEnded = !hasBody && !stream.IsConnect;
        stream.Hold(proxied.HeadBytes);
        stream.Exchange?.BeginUpstream();
        stream.IsProxied = true;
    }

    /// <summary>
    /// Takes the data of one frame, also before its request is planned: what no upstream takes now is kept, and is never more than the
    /// stream's window.
    /// </summary>
    public Http2Fault TakeData(Http2Stream stream, ReadOnlySpan<byte> data, bool isLast)
    {
        ProxiedStream proxied = stream.Proxied ??= new ProxiedStream(stream);
        proxied.AwaitsContinue = false;
        if (proxied.Data.IsEmpty)
        {
            data = data[Pass(stream, proxied, data)..];
        }

        if (!data.IsEmpty)
        {
            streams.KeepData(stream, data);
        }

        Http2Fault fault = isLast ? stream.Request.End() : default;
        if (fault.IsNone)
        {
            PassBody(stream, proxied);
        }

        return fault;
    }

    /// <summary>The request's body ends with trailers.</summary>
    public Http2Fault TakeTrailers(Http2Stream stream, ReadOnlySpan<byte> lines)
    {
        (stream.Proxied ??= new ProxiedStream(stream)).SetTrailers(lines.ToArray());
        return TakeData(stream, default, isLast: true);
    }

    /// <summary>A request whose data was kept is answered here: the data counts as any other that is not needed.</summary>
    public void DropData(Http2Stream stream)
    {
        if (stream.Proxied is { Data.IsEmpty: false } proxied)
        {
            streams.ConsumeData(stream, proxied.Data.Length);
            GiveWindow(stream, proxied);
        }
    }

    /// <summary>Has the informational responses pass that waited for room, if there is some now.</summary>
    public void TakeRoom()
    {
        if (!WaitsForRoom || !queue.HasRoom)
        {
            return;
        }

        WaitsForRoom = false;
        foreach (Http2Stream stream in streams.All)
        {
            if (stream.IsProxied && stream.Proxied!.Upstream!.Phase == UpstreamPhase.Informational)
            {
                streams.OnSourceProgress(stream);
            }
        }
    }

    /// <summary>Continues with the streams whose bodies' producers have made progress.</summary>
    public void TakeProgress()
    {
        // Backwards: the last stream takes the index of one that is closed.
        for (int i = streams.Count - 1; i >= 0 && streams.SourcesProgressed > 0; i--)
        {
            Http2Stream stream = streams.All[i];
            if (!streams.TakeSourceProgress(stream))
            {
                continue;
            }

            if (stream.IsProxied)
            {
                Advance(stream, stream.Proxied!);
            }

            if (stream.State == SendState.Producer)
            {
                queue.Enqueue(stream);
            }
        }
    }

    /// <summary>Ends a stream whose client sends its body too slowly.</summary>
    public void EndIfLate(Http2Stream stream)
    {
        ProxiedStream proxied = stream.Proxied!;
        if (stream.IsConnect || !proxied.IsLate(stream.Request, reactorState.NowMs, reactorState.Limits))
        {
            return;
        }

        if (proxied.HasHead)
        {
            streams.Reset(stream, Http2Error.Cancel);
        }
        else
        {
            RespondError(stream, proxied, 408);
        }
    }

    private void Advance(Http2Stream stream, ProxiedStream proxied)
    {
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
                case UpstreamPhase.Informational when !queue.HasRoom:
                    WaitsForRoom = true;
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
            streams.Reset(stream, proxied.IsTunnel ? Http2Error.Cancel : Http2Error.InternalError);
        }
    }

    private void BeginResponse(Http2Stream stream, ProxiedStream proxied, UpstreamExchange upstream)
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
        responses.WriteUpstreamHead(stream, response, isTunnel ? 200 : head.Status, proxied.SendsVia, hasBody);
        upstream.TakeHead();
        if (!hasBody)
        {
            streams.EndResponse(stream);
            return;
        }

        stream.Body.Begin(upstream);
        proxied.BeginResponse(queue);
        queue.Enqueue(stream);
        PassBody(stream, proxied);
    }

    /// <summary>Answers in place of the upstream, with the site's page for the status.</summary>
    private void RespondError(Http2Stream stream, ProxiedStream proxied, int status)
    {
        stream.Exchange?.SetUpstream(proxied.Upstream!.Peer?.Text);
        proxied.ReleaseUpstream();
        stream.IsProxied = false;
        DropData(stream);
        streams.AbandonBody(stream);
        RequestHead head = reactorState.Head;
        _ = RequestHeadParser.Parse(proxied.Head, head, reactorState.HeadLimits);
        reactorState.Planner.PlanError(head, proxied.Head, status, out SiteBinding binding, out ResponsePlan plan);
        responses.Respond(stream, plan, binding, head, proxied.Head);
    }

    /// <summary>Passes what was kept of the request's body, and its end, as far as the upstream takes it.</summary>
    private void PassBody(Http2Stream stream, ProxiedStream proxied)
    {
        if (!stream.IsProxied)
        {
            return;
        }

        while (Pass(stream, proxied, proxied.Data) is > 0 and int count)
        {
            streams.ConsumeData(stream, count);
        }

        if (proxied.Data.IsEmpty && stream.Request.Bytes > 0 && !stream.Request.IsComplete)
        {
            stream.Request.WindowMax = UploadWindowBytes;
            streams.HasUploads = true;
        }

        if (stream.Request.IsComplete && proxied.Data.IsEmpty && !proxied.IsBodyEnded && RoomOf(stream, proxied) > 0)
        {
            proxied.IsBodyEnded = true;
            EndBody(stream, proxied);
            streams.OnSourceProgress(stream);
        }

        GiveWindow(stream, proxied);
        if (proxied.IsBodyEnded && stream.IsAnswered)
        {
            streams.CloseIfDone(stream);
        }
    }

    private void EndBody(Http2Stream stream, ProxiedStream proxied)
    {
        if (stream.IsConnect)
        {
            proxied.Upstream!.EndTunnelSoon();
        }
        else
        {
            proxied.Upstream!.EndBody(reactorState.ProxyHead.Trailers(proxied.Trailers, proxied.ReplacedNames));
        }
    }

    private static int Pass(Http2Stream stream, ProxiedStream proxied, ReadOnlySpan<byte> data)
    {
        int count = data.IsEmpty ? 0 : Math.Min(data.Length, RoomOf(stream, proxied));
        if (count > 0)
        {
            proxied.Upstream!.WriteBody(data[..count]);
        }

        return count;
    }

    /// <summary>A tunnel takes nothing before the upstream has switched to it.</summary>
    private static int RoomOf(Http2Stream stream, ProxiedStream proxied) =>
        stream.IsProxied && (!stream.IsConnect || proxied.IsTunnel) ? proxied.Upstream!.BodyRoom : 0;

    /// <summary>Opens the stream's window for the client again, for what the upstream has taken, when that is half of it.</summary>
    private void GiveWindow(Http2Stream stream, ProxiedStream proxied)
    {
        ref IncomingBody body = ref stream.Request;
        int increment = body.WindowMax - proxied.Data.Length - body.Window;
        if (increment >= body.WindowMax / 2 && !body.IsComplete && !body.IsAbandoned)
        {
            body.Window += increment;
            connection.Advance(FrameWriter.WindowUpdate(connection.GetSpan(FrameWriter.WindowUpdateBytes), stream.Id, increment));
        }
    }
}
