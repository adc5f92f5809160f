using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// Ends streams, or the connection, that make no progress because the client sends no body or opens no window, as if its socket took
/// nothing. Reactor thread only.
/// </summary>
internal sealed class StreamTimeouts(
    Connection connection,
    SessionReactorState reactorState,
    Http2Lifecycle lifecycle,
    Http2Streams streams,
    SendQueue queue,
    Http2Proxy proxy)
{
    private readonly WindowTimeout _windowTimeout = new();
    private readonly long _checkMs = Math.Max(
        1, (long)Math.Min(reactorState.Limits.ReceiveStall.TotalMilliseconds, connection.Reactor.WriteStallMs) / 4);
    private long _dueMs;
    private long _lastCheckMs;

    /// <summary>
    /// How much of the output the client had taken at the last check, up to the last DATA frame: responses to its own PINGs after that are
    /// not progress.
    /// </summary>
    private long _acknowledgedBytes;

    /// <summary>The time of the next check, if there are streams.</summary>
    public long DueMs => Math.Min(_dueMs, proxy.DecisionDueMs);

    /// <summary>Begins to check, when the first of several concurrent streams opens.</summary>
    public void Restart()
    {
        _dueMs = reactorState.NowMs + _checkMs;
        _windowTimeout.Stop();
    }

    public void CheckIfDue()
    {
        if (streams.Count == 0 || lifecycle.IsOver)
        {
            return;
        }

        proxy.DecideIfDue(streams.All);
        long now = reactorState.NowMs;
        if (now >= _dueMs)
        {
            Check();
            _dueMs = now + _checkMs;
        }
    }

    private void Check()
    {
        bool waitsForConnection = false;
        bool isClientReading = IsClientReading();
        for (int i = streams.Count - 1; i >= 0; i--)
        {
            Http2Stream stream = streams.All[i];
            waitsForConnection |= stream.State == SendState.ConnectionWindow;
            if (stream.State == SendState.StreamWindow
                && IsTooSlow(stream.WindowTimeout ??= new WindowTimeout(), stream.SentBytes, isClientReading, stream.EndsAt))
            {
                streams.Reset(stream, Http2Error.Cancel);
            }
            else
            {
                if (!IsBlockedByClient(stream.State, isClientReading))
                {
                    stream.WindowTimeout?.Stop();
                }

                // An upstream may get the body of a request that is not planned yet: its length must still be checked.
                if (stream.IsProxied)
                {
                    proxy.EndIfLate(stream);
                }
                else if (stream.Preparation is null && stream.Request.IsLate(reactorState.NowMs, reactorState.Limits))
                {
                    streams.AbandonBody(stream);
                }
            }
        }

        if (!waitsForConnection)
        {
            _windowTimeout.Stop();
        }
        else if (IsTooSlow(_windowTimeout, queue.SentBytes, isClientReading, queue.DataEndsAt))
        {
            lifecycle.Fail(Http2Error.EnhanceYourCalm);
        }
    }

    /// <summary>Whether the client has taken data at the required rate since the last check, over all streams.</summary>
    private bool IsClientReading()
    {
        long before = _acknowledgedBytes;
        _acknowledgedBytes = Math.Max(before, Math.Min(connection.Sender.AcknowledgedBytes(), queue.DataEndsAt));
        long bytes = _acknowledgedBytes - before;
        long ms = reactorState.NowMs - _lastCheckMs;
        _lastCheckMs = reactorState.NowMs;
        return bytes > 0 && bytes * 1000 >= ms * connection.Reactor.Limits.WriteBytesPerSecond;
    }

    /// <summary>
    /// Whether a stream counts as blocked between checks. A stream that waits for its own window now and for the connection's at the next
    /// check was blocked all the time, unless the client took data of others: otherwise a client could alternate between the two windows
    /// and escape both rate limits.
    /// </summary>
    private static bool IsBlockedByClient(SendState state, bool isClientReading) =>
        state == SendState.StreamWindow || (!isClientReading && state is SendState.ConnectionWindow or SendState.ReadAhead);

    /// <param name="timeout">Of a stream or the connection.</param>
    /// <param name="sentBytes">What was sent through the window.</param>
    /// <param name="isClientReading">Whether the client has taken data since the last check.</param>
    /// <param name="endsAt">Where in the output the last of it ends: until the client has taken that, data is in transit.</param>
    private bool IsTooSlow(WindowTimeout timeout, long sentBytes, bool isClientReading, long endsAt) =>
        timeout.IsTooSlow(reactorState.NowMs, sentBytes, isClientReading && _acknowledgedBytes < endsAt, connection.Reactor);
}
