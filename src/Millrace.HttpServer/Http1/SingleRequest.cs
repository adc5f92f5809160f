using Millrace.Engine;
using Millrace.Http;

namespace Millrace.HttpServer.Http1;

/// <summary>Reads one request, for sessions that answer one at a time: redirects, refusals, admin pages. Reactor thread only.</summary>
internal static class SingleRequest
{
    /// <summary>
    /// Reads into a head that sessions of the reactor may share. Incomplete if the deadline that the caller has set is over, or the client
    /// has ended the connection; the outcome says which.
    /// </summary>
    public static async Task<(HeadResult Result, ReadOutcome Outcome)> ReadAsync(Connection connection, RequestHead head, HeadLimits limits)
    {
        ReadOutcome outcome = ReadOutcome.Data;
        while (true)
        {
            // After the last wait, too: other sessions have parsed into the shared head since.
            HeadResult result = RequestHeadParser.Parse(connection.Input, head, limits);
            if (!result.IsIncomplete || outcome != ReadOutcome.Data)
            {
                return (result, outcome);
            }

            outcome = await connection.ReadAsync();
        }
    }
}
