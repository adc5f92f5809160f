using Millrace.Http;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Sessions;
using Millrace.QuicTransport;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// The requests of one connection (RFC 9114, section 4), from their decoded fields to the plans. Reactor thread only.
/// </summary>
internal sealed class Http3Requests(
    QuicServerConnection connection,
    SessionReactorState reactorState,
    Http3Lifecycle lifecycle,
    Http3Streams streams,
    Http3ResponseWriter responses,
    Http3Proxy proxy,
    Http3StreamErrors errors,
    Func<ReadOnlySpan<byte>, bool>? isCovered)
{
    /// <summary>Requests refused for lack of memory before the connection ends: each costs more than the connection may hold.</summary>
    private const int RefusalsMax = 10;

    private int _refusals;
    private (long StreamId, StreamPriority Priority)[]? _earlyPriorities;

    /// <summary>Called after a request that has waited is planned, so that its body can be read.</summary>
    public Action<Http3Stream>? Planned { private get; set; }

    /// <summary>
    /// Applies a PRIORITY_UPDATE that precedes its request (RFC 9218, section 7.2). They are kept for as many requests as may be open.
    /// </summary>
    public void Prioritize(long streamId, StreamPriority priority)
    {
        if (_earlyPriorities is null)
        {
            _earlyPriorities = new (long, StreamPriority)[(int)connection.Connection.Context.Settings.Streams.BidirectionalStreamsMax];
            Array.Fill(_earlyPriorities, (-1, default));
        }

        _earlyPriorities[(streamId >> 2) % _earlyPriorities.Length] = (streamId, priority);
    }

    /// <summary>
    /// Takes a request whose field section was decoded into <see cref="Http3ReactorState.Fields"/>. It may be answered within the call.
    /// </summary>
    /// <param name="stream">Its stream.</param>
    /// <param name="isComplete">Whether the client's side of the stream has ended after it.</param>
    public void Take(Http3Stream stream, bool isComplete)
    {
        RequestFields fields = reactorState.Http3.Fields;
        HeadRefusal refusal = fields.Conclude();
        RequestHead head = fields.Head;

        // Section 4.1.2: the length does not match the body.
        if (HeadRefusals.IsMalformed(refusal) || (refusal == HeadRefusal.None && isComplete && head.ContentLength > 0))
        {
            errors.Reset(stream, Http3Error.MessageError);
            return;
        }

        lifecycle.NoteTaken(stream.Id);
        stream.Input.HasRequest = true;
        streams.BeginRequest(stream, head, isComplete, PriorityOf(stream.Id, head, fields.Bytes));
        stream.IsConnect = fields.IsConnect;
        if (stream.IsConnect)
        {
            stream.Input.Frames.ExpectOnlyData();
        }

        if (reactorState.Recorder?.Begin(connection) is { } exchange)
        {
            exchange.Protocol = HttpVersion.Http3;
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

    /// <summary>An earlier PRIORITY_UPDATE takes precedence over the request's own field (RFC 9218, section 7).</summary>
    private StreamPriority PriorityOf(long streamId, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        if (_earlyPriorities is { } early && early[(streamId >> 2) % early.Length] is var (id, priority) && id == streamId)
        {
            return priority;
        }

        return head.TryGet(FieldName.Priority, out TextRange value) ? StreamPriority.Parse(value.In(bytes)) : StreamPriority.Default;
    }

    private void DecideUnlessOverloaded(Http3Stream stream, RequestHead head, ReadOnlySpan<byte> bytes, PlanPreparation? earlier)
    {
        if (!connection.Holdings.IsToBeRefused)
        {
            Decide(stream, head, bytes, earlier);
        }
        else if (++_refusals > RefusalsMax)
        {
            lifecycle.Fail(Http3Error.ExcessiveLoad, "Too many requests while memory is short");
        }
        else
        {
            connection.Reactor.NoteRefused();
            bool prefersHtml = reactorState.Planner.PrefersHtml(head, bytes);
            responses.RespondOverloaded(stream, prefersHtml, includesBody: head.Method != Method.Head);
        }
    }

    /// <summary>Plans and begins the response, or prepares first what the plan needs.</summary>
    private void Decide(Http3Stream stream, RequestHead head, ReadOnlySpan<byte> bytes, PlanPreparation? earlier)
    {
        if (reactorState.Planner.Plan(connection, head, bytes, earlier, out SiteBinding binding, out ResponsePlan plan) is { } preparation)
        {
            preparation.Head ??= bytes.ToArray();
            streams.BeginPreparation(stream, preparation);
            _ = PlanPreparedAsync(stream, preparation);
            return;
        }

        if (plan.Body == PlanBody.Upstream)
        {
            proxy.Begin(stream, head, bytes, plan);
            return;
        }

        if (stream.IsConnect && plan.Status < 300)
        {
            // A success would mean that the tunnel is there (RFC 9220, section 3).
            Http3Streams.AbandonBody(stream);
            responses.RespondError(stream, new UnplannedError(501, prefersHtml: false), includesBody: true);
            return;
        }

        bool isTooLarge = !stream.Request.IsComplete && head.ContentLength > reactorState.Limits.SkippedBodyBytesMax && plan.Status < 400;
        if (isTooLarge)
        {
            // Before the response, which may end the stream; the object may then belong to another request.
            Http3Streams.AbandonBody(stream);
            var error = new UnplannedError(413, reactorState.Planner.PrefersHtml(head, bytes));
            responses.RespondError(stream, error, includesBody: head.Method != Method.Head);
        }
        else
        {
            responses.Respond(stream, plan, binding, head, bytes);
        }
    }

    /// <summary>Continues with a request when what it waits for is there, unless its stream has ended meanwhile.</summary>
    private async Task PlanPreparedAsync(Http3Stream stream, PlanPreparation preparation)
    {
        // The plan that follows handles a failure.
        await preparation.Task.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await connection.Reactor.SwitchTo();
        if (stream.Preparation != preparation || lifecycle.IsOver)
        {
            return;
        }

        try
        {
            streams.EndPreparation(stream);
            await preparation.CompleteAsync();
            RequestHead head = reactorState.Head;
            if (!RequestHeadParser.Parse(preparation.Head!, head, reactorState.HeadLimits).IsComplete)
            {
                throw new InvalidOperationException("The stored request head cannot be parsed again.");
            }

            // Memory that was available when the request arrived may no longer be available.
            DecideUnlessOverloaded(stream, head, preparation.Head!, preparation);
            Planned?.Invoke(stream);
        }
#pragma warning disable CA1031 // As an exception of any other handler, it ends the connection and is logged.
        catch (Exception error)
#pragma warning restore CA1031
        {
            lifecycle.Fail(error);
        }
    }
}
