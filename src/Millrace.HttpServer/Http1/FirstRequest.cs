using Millrace.Engine;
using Millrace.Http;

namespace Millrace.HttpServer.Http1;

/// <summary>Reads the first request of a connection that gets one response and is closed. Reactor thread only.</summary>
internal static class FirstRequest
{
    /// <summary>
    /// Reads into the head that the reactor's sessions share. Incomplete if the deadline that the caller has set is over, or the client has
    /// ended the connection; the outcome says which.
    /// </summary>
    public static async Task<(HeadResult Result, ReadOutcome Outcome)> ReadAsync(Connection connection, SessionReactorState reactorState)
    {
        ReadOutcome outcome = ReadOutcome.Data;
        while (true)
        {
            // After the last wait, too: other sessions have parsed into the shared head since.
            HeadResult result = RequestHeadParser.Parse(connection.Input, reactorState.Head, reactorState.HeadLimits);
            if (!result.IsIncomplete || outcome != ReadOutcome.Data)
            {
                return (result, outcome);
            }

            outcome = await connection.ReadAsync();
        }
    }
}
