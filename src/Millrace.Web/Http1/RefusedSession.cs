using Millrace.Engine;
using Millrace.Http;
using Millrace.Web.Exchanges;
using Millrace.Web.Http2;

namespace Millrace.Web.Http1;

/// <summary>
/// A connection beyond a limit: its first request is answered 503 with Retry-After (RFC 9110, section 15.6.4), and it ends. Who has not
/// asked in time is reset: an answer to nothing would be taken for the answer to what comes next.
/// </summary>
internal static class RefusedSession
{
    public static async Task RunAsync(Connection connection, Workbench bench)
    {
        connection.SetReadDeadline(bench.Limits.RefusedHead);
        Exchange? exchange = bench.Ledger?.Begin(connection);
        HeadResult result;
        while ((result = Parse(connection, bench)).IsIncomplete)
        {
            if (await connection.ReadAsync() != ReadOutcome.Data)
            {
                connection.Abort();
                return;
            }
        }

        if (result.Refusal == HeadRefusal.VersionNotSupported && ConnectionPreface.Match(connection.Input) != PrefaceMatch.No)
        {
            Http2Session.Refuse(connection);
            return;
        }

        int status = result.IsRefused ? HeadRefusals.StatusOf(result.Refusal) : 503;
        bool includesBody = bench.Head.Method != Method.Head;
        bench.Ledger?.Take(connection, exchange!, bench.Head, result);
        PlainAnswer.Write(connection, status, bench.DateLine, "Connection: close\r\n"u8, includesBody, exchange);
        ExchangeLedger.End(connection, ref exchange);
    }

    private static HeadResult Parse(Connection connection, Workbench bench) =>
        RequestHeadParser.Parse(connection.Input, bench.Head, bench.HeadLimits);
}
