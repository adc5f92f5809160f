using System.Globalization;
using System.Text;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Sessions;
using Millrace.StaticFiles.Planning;

namespace Millrace.HttpServer.Http1;

/// <summary>
/// Redirects a plain HTTP connection to HTTPS: answers its first request with 308, which keeps the method, and closes the connection,
/// because the next request should not use it. Requests of a certificate authority (ACME HTTP-01) are served here: the authority uses port
/// 80, and may not follow the redirect if HTTPS has another port than 443 or has the certificate that is to be replaced.
/// </summary>
internal static class RedirectSession
{
    private const int HttpsPort = 443;

    /// <summary>Status line, Date, Connection, Content-Length and the name of Location.</summary>
    private const int OwnBytesMax = 256;

    public static async Task RunAsync(Connection connection, SessionReactorState reactorState, int port)
    {
        connection.SetReadRate(reactorState.Limits.ReceiveBytesPerSecond, reactorState.Limits.ReceiveStall, reactorState.Limits.Head);
        HttpExchange? exchange = reactorState.Recorder?.Begin(connection);
        (HeadResult result, ReadOutcome outcome) = await SingleRequest.ReadAsync(connection, reactorState.Head, reactorState.HeadLimits);
        if (result.IsIncomplete && (outcome != ReadOutcome.TimedOut || connection.Input.IsEmpty))
        {
            return;
        }

        RequestHead head = reactorState.Head;
        if (result.IsComplete && AcmeChallengePath.TokenOf(head.Target.Path.In(connection.Input)) is not null)
        {
            await new Http1Session(connection, reactorState, exchange) { ClosesAfterFirst = true }.RunAsync();
            return;
        }

        reactorState.Recorder?.Record(connection, exchange!, head, result.IsComplete);
        int status = result.IsIncomplete ? 408
            : result.IsRefused ? HeadRefusals.StatusOf(result.Refusal)
            // The https resource was requested here: a redirect would lead to the same URL.
            : reactorState.IsUnsecured(connection, head.Target.Scheme) ? 421
            // HTTP/1.0 without Host, or a port alone: there is no host for the Location, and a client would take the path for the host (RFC
            // 9110, section 4.2.2).
            : HostOf(head, connection.Input).IsEmpty ? 400
            : PlanStatus.PermanentRedirect;
        if (status == PlanStatus.PermanentRedirect)
        {
            Redirect(connection, reactorState, LocationOf(head, connection.Input, port), exchange);
        }
        else
        {
            bool includesBody = result.IsIncomplete || head.Method != Method.Head;
            var error = new UnplannedError(status, result.IsComplete && reactorState.Planner.PrefersHtml(head, connection.Input));
            ResponseWriter.WriteError(connection, reactorState, error, ResponseWriter.CloseLine, includesBody, exchange);
        }

        ExchangeRecorder.End(connection, ref exchange);
    }

    private static byte[] LocationOf(RequestHead head, ReadOnlySpan<byte> bytes, int port)
    {
        string portText = port == HttpsPort ? "" : string.Create(CultureInfo.InvariantCulture, $":{port}");
        ReadOnlySpan<byte> path = head.Target.Path.Length == 0 ? "/"u8 : head.Target.Path.In(bytes);
        return [.. "https://"u8, .. HostOf(head, bytes), .. Encoding.ASCII.GetBytes(portText), .. path, .. head.Target.Query.In(bytes)];
    }

    private static ReadOnlySpan<byte> HostOf(RequestHead head, ReadOnlySpan<byte> bytes) => HostTable.WithoutPort(head.Authority.In(bytes));

    private static void Redirect(
        Connection connection, SessionReactorState reactorState, ReadOnlySpan<byte> location, HttpExchange? exchange)
    {
        var writer = new ResponseHeadWriter(connection.GetSpan(OwnBytesMax + location.Length));
        writer.Status(PlanStatus.PermanentRedirect);
        writer.Field("Location"u8, location);
        writer.ContentLength(0);
        connection.Advance(ResponseWriter.Finish(ref writer, reactorState, ResponseWriter.CloseLine));
        exchange?.SetResponse(PlanStatus.PermanentRedirect, ResponseBodySource.None);
        exchange?.BeginBody(connection.WrittenBytes);
    }
}
