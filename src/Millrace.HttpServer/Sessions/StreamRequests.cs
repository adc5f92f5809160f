using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Heads;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Sessions;

/// <summary>
/// The requests of one connection's streams, from their decoded fields to the plans. The derived class knows how HTTP/2 or HTTP/3 brings
/// them, and how they wait. Reactor thread only.
/// </summary>
internal abstract class StreamRequests<TWriter>(
    IClientConnection connection,
    SessionReactorState reactorState,
    StreamResponseWriter<TWriter> responses,
    StreamProxy<TWriter> proxy,
    Func<ReadOnlySpan<byte>, bool>? isCovered)
    where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
{
    /// <summary>Requests refused for lack of memory before the connection ends: each costs more than the connection may hold.</summary>
    private const int RefusalsMax = 10;

    private int _refusals;

    protected SessionReactorState ReactorState => reactorState;

    /// <summary>Whether the stream is to be reset: the head is malformed, or its length does not match a body that is not there.</summary>
    protected static bool IsMalformed(HeadRefusal refusal, RequestHead head, bool isComplete) =>
        HeadRefusals.IsMalformed(refusal) || (refusal == HeadRefusal.None && isComplete && head.ContentLength > 0);

    /// <summary>Begins the response to a request whose stream is open. It may be complete within the call.</summary>
    protected void Answer(RequestStream stream, RequestFields fields, HeadRefusal refusal, HttpVersion protocol)
    {
        RequestHead head = fields.Head;
        if (reactorState.Recorder?.Begin(connection) is { } exchange)
        {
            exchange.Protocol = protocol;
            exchange.Take(head, fields.Bytes, isRefused: refusal != HeadRefusal.None);
            stream.Exchange = exchange;
        }

        if (refusal != HeadRefusal.None)
        {
            var error = new UnplannedError(HeadRefusals.StatusOf(refusal), prefersHtml: false);
            responses.RespondError(stream, error, includesBody: head.Method != Method.Head);
        }
        else if (reactorState.IsMisdirected(connection, isCovered, fields.Scheme, head, fields.Bytes))
        {
            var error = new UnplannedError(421, reactorState.Planner.PrefersHtml(head, fields.Bytes));
            responses.RespondError(stream, error, includesBody: head.Method != Method.Head);
        }
        else
        {
            DecideUnlessOverloaded(stream, head, fields.Bytes, earlier: null);
        }
    }

    /// <summary>Continues with a request whose preparation is complete, and which waits for nothing any more.</summary>
    protected async Task AnswerPreparedAsync(RequestStream stream, PlanPreparation prepared)
    {
        await prepared.CompleteAsync();
        RequestHead head = reactorState.Head;
        if (!RequestHeadParser.Parse(prepared.Head!, head, reactorState.HeadLimits).IsComplete)
        {
            throw new InvalidOperationException("The stored request head cannot be parsed again.");
        }

        // Memory that was available when the request arrived may no longer be available.
        DecideUnlessOverloaded(stream, head, prepared.Head!, prepared);
    }

    /// <summary>Lets a request wait for what its plan needs.</summary>
    protected abstract void Wait(RequestStream stream, PlanPreparation preparation);

    /// <summary>The request is answered here: what was kept of its body for an upstream is not needed.</summary>
    protected abstract void DropBody(RequestStream stream);

    /// <summary>Takes no more of a request's body.</summary>
    protected abstract void AbandonBody(RequestStream stream);

    /// <summary>Ends the connection of a client that goes on asking while memory is short.</summary>
    protected abstract void EndOverloaded();

    private void DecideUnlessOverloaded(RequestStream stream, RequestHead head, ReadOnlySpan<byte> bytes, PlanPreparation? earlier)
    {
        if (!connection.Holdings.IsToBeRefused)
        {
            Decide(stream, head, bytes, earlier);
        }
        else if (++_refusals > RefusalsMax)
        {
            EndOverloaded();
        }
        else
        {
            connection.Reactor.NoteRefused();
            bool prefersHtml = reactorState.Planner.PrefersHtml(head, bytes);
            responses.RespondOverloaded(stream, prefersHtml, includesBody: head.Method != Method.Head);
        }
    }

    /// <summary>Plans and begins the response, or prepares first what the plan needs.</summary>
    private void Decide(RequestStream stream, RequestHead head, ReadOnlySpan<byte> bytes, PlanPreparation? earlier)
    {
        if (reactorState.Planner.Plan(connection, head, bytes, earlier, out SiteBinding binding, out ResponsePlan plan) is { } preparation)
        {
            preparation.Head ??= bytes.ToArray();
            Wait(stream, preparation);
            return;
        }

        if (plan.Body == PlanBody.Upstream)
        {
            proxy.Begin(stream, head, bytes, plan);
            return;
        }

        DropBody(stream);
        if (stream.IsConnect && plan.Status < 300)
        {
            // A success would mean that the tunnel is there (RFC 8441, section 5; RFC 9220, section 3).
            AbandonBody(stream);
            responses.RespondError(stream, new UnplannedError(501, prefersHtml: false), includesBody: true);
            return;
        }

        bool isTooLarge = !stream.Request.IsComplete && head.ContentLength > reactorState.Limits.SkippedBodyBytesMax && plan.Status < 400;
        if (isTooLarge)
        {
            // Before the response, which may end the stream; the object may then belong to another request.
            AbandonBody(stream);
            var error = new UnplannedError(413, reactorState.Planner.PrefersHtml(head, bytes));
            responses.RespondError(stream, error, includesBody: head.Method != Method.Head);
        }
        else
        {
            responses.Respond(stream, plan, binding, head, bytes);
        }
    }
}
