using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Http2;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http1;

/// <summary>
/// Refuses a connection beyond a limit: answers its first request with 503 and Retry-After (RFC 9110, section 15.6.4) and closes. A
/// connection without a request in time is reset: the client would take a response without a request for the response to its next request.
/// </summary>
internal static class RefusedSession
{
    public static async Task RunAsync(Connection connection, SessionReactorState reactorState)
    {
        connection.SetReadDeadline(reactorState.Limits.RefusedHead);
        HttpExchange? exchange = reactorState.Recorder?.Begin(connection);
        (HeadResult result, _) = await SingleRequest.ReadAsync(connection, reactorState.Head, reactorState.HeadLimits);
        if (result.IsIncomplete)
        {
            connection.Abort();
            return;
        }

        if (result.Refusal == HeadRefusal.VersionNotSupported && ConnectionPreface.Match(connection.Input) != PrefaceMatch.No)
        {
            Http2Lifecycle.Refuse(connection);
            return;
        }

        UnplannedError error = result.IsRefused
            ? new(HeadRefusals.StatusOf(result.Refusal), prefersHtml: false)
            : new(503, reactorState.Planner.PrefersHtml(reactorState.Head, connection.Input));
        bool includesBody = reactorState.Head.Method != Method.Head;
        reactorState.Recorder?.Record(connection, exchange!, reactorState.Head, result.IsComplete);
        ResponseWriter.WriteError(connection, reactorState, error, ResponseWriter.CloseLine, includesBody, exchange);
        ExchangeRecorder.End(connection, ref exchange);
    }
}
