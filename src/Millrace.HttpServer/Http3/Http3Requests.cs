using Millrace.Http;
using Millrace.HttpServer.Sessions;
using Millrace.QuicTransport;

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
    : StreamRequests<QpackBlockWriter>(connection, reactorState, responses, proxy, isCovered)
{
    private readonly EarlyPriorities _priorities =
        new((int)connection.Connection.Context.Settings.Streams.BidirectionalStreamsMax, idStep: 4);

    /// <summary>Called after a request that has waited is planned, so that its body can be read.</summary>
    public Action<Http3Stream>? Planned { private get; set; }

    /// <summary>Applies a PRIORITY_UPDATE that precedes its request (RFC 9218, section 7.2).</summary>
    public void Prioritize(long streamId, StreamPriority priority) => _priorities.Keep(streamId, priority);

    /// <summary>
    /// Takes a request whose field section was decoded into <see cref="Http3ReactorState.Fields"/>. It may be answered within the call.
    /// </summary>
    /// <param name="stream">Its stream.</param>
    /// <param name="isComplete">Whether the client's side of the stream has ended after it.</param>
    public void Take(Http3Stream stream, bool isComplete)
    {
        RequestFields fields = ReactorState.Http3.Fields;
        HeadRefusal refusal = fields.Conclude();
        RequestHead head = fields.Head;

        // Section 4.1.2.
        if (IsMalformed(refusal, head, isComplete))
        {
            errors.Reset(stream, Http3Error.MessageError);
            return;
        }

        lifecycle.NoteTaken(stream.Id);
        stream.Input.HasRequest = true;
        streams.BeginRequest(stream, head, isComplete, _priorities.Of(stream.Id, head, fields.Bytes));
        stream.IsConnect = fields.IsConnect;
        if (stream.IsConnect)
        {
            stream.Input.Frames.ExpectOnlyData();
        }

        Answer(stream, fields, refusal, HttpVersion.Http3);
    }

    protected override void Wait(RequestStream stream, PlanPreparation preparation)
    {
        stream.BeginPreparation(preparation);
        _ = PlanPreparedAsync((Http3Stream)stream, preparation);
    }

    /// <summary>What has arrived stays in the QUIC stream until it is read.</summary>
    protected override void DropBody(RequestStream stream)
    {
    }

    protected override void AbandonBody(RequestStream stream) => Http3Streams.AbandonBody((Http3Stream)stream);

    protected override void EndOverloaded() => lifecycle.Fail(Http3Error.ExcessiveLoad, "Too many requests while memory is short");

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
            stream.EndPreparation();
            await AnswerPreparedAsync(stream, preparation);
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
