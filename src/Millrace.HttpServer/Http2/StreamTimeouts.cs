using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Http1;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// Ends streams, or the connection, that make no progress because the client sends no body or opens no window, as if its socket took
/// nothing. Reactor thread only.
/// </summary>
internal sealed class StreamTimeouts(
    Connection connection, SessionReactorState reactorState, Http2Lifecycle lifecycle, Http2Streams streams, SendQueue queue)
{
    private readonly TransferRateLimit _windowWatch = new();
    private readonly long _checkMs = Math.Max(
        1, (long)Math.Min(reactorState.Limits.ReceiveStall.TotalMilliseconds, connection.Reactor.WriteStallMs) / 4);
    private bool _isWatched;
    private long _lastCheckMs;
    private long _sentAtCheck;

    /// <summary>
    /// How much of the output the client had taken at the last check, up to the last DATA frame: responses to its own PINGs after that are
    /// not progress.
    /// </summary>
    private long _acknowledgedBytes;

    /// <summary>The time of the next check, if there are streams.</summary>
    public long DueMs { get; private set; }

    /// <summary>Begins to check, when the first of several concurrent streams opens.</summary>
    public void Restart()
    {
        DueMs = reactorState.NowMs + _checkMs;
        _isWatched = false;
    }

    public void CheckIfDue()
    {
        long now = reactorState.NowMs;
        if (streams.Count > 0 && now >= DueMs && !lifecycle.IsOver)
        {
            Check();
            DueMs = now + _checkMs;
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
            if (stream.State == SendState.StreamWindow && IsTooSlow(stream, isClientReading))
            {
                streams.End(stream, Http2Error.Cancel);
            }
            else
            {
                stream.IsWatched &= IsBlockedByClient(stream.State, isClientReading);
                if (stream.Request.IsLate(reactorState.NowMs, reactorState.Limits))
                {
                    streams.AbandonBody(stream);
                }
            }
        }

        if (!waitsForConnection)
        {
            _isWatched = false;
        }
        else if (!_isWatched)
        {
            _isWatched = true;
            BeginWatch(_windowWatch, queue.SentBytes);
        }
        else if (isClientReading && IsInTransit(queue.DataEndsAt, queue.SentBytes - _sentAtCheck))
        {
            _windowWatch.Resume(reactorState.NowMs, queue.SentBytes);
        }
        else if (_windowWatch.IsTooSlow(reactorState.NowMs, queue.SentBytes))
        {
            lifecycle.Fail(Http2Error.EnhanceYourCalm);
        }

        _sentAtCheck = queue.SentBytes;
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

    /// <summary>
    /// Whether data is in transit before the position. A client opens a window for data it has received: while it still receives earlier
    /// data, the clock stops. This holds only if nothing was sent since the last check; otherwise a client that opens a window a little
    /// before each check would never time out.
    /// </summary>
    private bool IsInTransit(long endsAt, long sentSinceCheck) => sentSinceCheck == 0 && _acknowledgedBytes < endsAt;

    private bool IsTooSlow(Http2Stream stream, bool isClientReading)
    {
        bool isTooSlow = false;
        if (!stream.IsWatched)
        {
            stream.IsWatched = true;
            BeginWatch(stream.WindowWatch ??= new TransferRateLimit(), stream.SentBytes);
        }
        else if (isClientReading && IsInTransit(stream.EndsAt, stream.SentBytes - stream.SentAtCheck))
        {
            stream.WindowWatch!.Resume(reactorState.NowMs, stream.SentBytes);
        }
        else
        {
            isTooSlow = stream.WindowWatch!.IsTooSlow(reactorState.NowMs, stream.SentBytes);
        }

        stream.SentAtCheck = stream.SentBytes;
        return isTooSlow;
    }

    private void BeginWatch(TransferRateLimit watch, long bytes) => watch.Begin(
        reactorState.NowMs, connection.Reactor.WriteStallMs, connection.Reactor.Limits.WriteBytesPerSecond, bytes);
}
