using Millrace.Http;
using Millrace.HttpServer.Sessions;
using Millrace.Quic.Streams;
using Millrace.QuicTransport;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// Ends streams, or the connection, that make no progress because the client sends no request or body, opens no window, or acknowledges
/// nothing, as if its socket took nothing. Releases the memory of responses that have arrived on streams that the client leaves open.
/// Reactor thread only.
/// </summary>
internal sealed class Http3StreamTimeouts(
    QuicServerConnection connection,
    SessionReactorState reactorState,
    Http3Lifecycle lifecycle,
    Http3Streams streams,
    Http3StreamErrors errors,
    Http3Proxy proxy)
{
    private readonly WindowTimeout _connectionTimeout = new();
    private readonly long _headMs = (long)reactorState.Limits.Head.TotalMilliseconds;
    private readonly long _checkMs = Math.Max(1, CheckMsOf(connection, reactorState));
    private long _dueMs = long.MaxValue;
    private long _lastCheckMs;

    /// <summary>Bytes of streams that are closed, as far as the client has acknowledged them.</summary>
    private long _closedBytes;

    /// <summary>What the client had acknowledged at the last check, of all streams.</summary>
    private long _acknowledgedBytes;

    /// <summary>What it could have acknowledged then: all that was written and that the windows of streams let out.</summary>
    private long _sendableBytes;

    /// <summary>The time of the next check, if there are streams.</summary>
    public long DueMs => streams.Count == 0 ? long.MaxValue : Math.Min(_dueMs, proxy.DecisionDueMs);

    /// <summary>Begins to check, when the first of several concurrent streams opens.</summary>
    public void Restart()
    {
        _dueMs = _lastCheckMs = reactorState.NowMs;
        _dueMs += _checkMs;
        _acknowledgedBytes = _sendableBytes = _closedBytes;
        _connectionTimeout.Stop();
    }

    /// <summary>A stream is about to be closed.</summary>
    public void OnClosed(Http3Stream stream) => _closedBytes += stream.Quic.Send.Buffer.Start;

    /// <summary>
    /// Whether a stream is in use: others only wait for the client to know of their end, or to send the end of its side. A client that
    /// never acknowledges an end would otherwise keep its connection for as long as it likes.
    /// </summary>
    public bool IsAnyInUse()
    {
        foreach (Http3Stream stream in streams.All)
        {
            SendStream send = stream.Quic.Send;
            bool isDelivered = send.IsTerminal || (stream.IsAnswered && stream.WrittenEnd == send.Buffer.Start);
            bool isRead = stream.Quic.Receive.IsStopped || stream.Quic.IsReadToEnd;
            if (!stream.IsCut && !(isDelivered && isRead))
            {
                return true;
            }
        }

        return false;
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
            Check(now);
            _dueMs = now + _checkMs;
        }
    }

    private static long CheckMsOf(QuicServerConnection connection, SessionReactorState reactorState)
    {
        HttpServerLimits limits = reactorState.Limits;
        double ms = Math.Min(limits.ReceiveStall.TotalMilliseconds, limits.Head.TotalMilliseconds);
        return (long)Math.Min(ms, connection.Reactor.WriteStallMs) / 4;
    }

    private void Check(long now)
    {
        long acknowledged = _closedBytes;
        long sendable = _closedBytes;
        foreach (Http3Stream stream in streams.All)
        {
            SendStream send = stream.Quic.Send;
            acknowledged += send.Buffer.Start;
            sendable += Math.Max(send.Buffer.Start, Math.Min(send.Buffer.End, send.Limit));
        }

        // All that was sent before the last check has arrived: what is in transit now is something else.
        bool hasTakenAll = acknowledged >= _sendableBytes;
        long bytes = acknowledged - _acknowledgedBytes;
        long ms = now - _lastCheckMs;
        bool isReading = bytes > 0 && bytes * 1000 >= ms * connection.Reactor.Limits.WriteBytesPerSecond;
        (_acknowledgedBytes, _sendableBytes, _lastCheckMs) = (acknowledged, sendable, now);
        CheckStreams(now, isReading);
        if (hasTakenAll)
        {
            _connectionTimeout.Stop();
        }
        else if (_connectionTimeout.IsTooSlow(now, acknowledged, isInTransit: false, connection.Reactor))
        {
            lifecycle.Fail(Http3Error.ExcessiveLoad, "Too little of the responses is taken");
        }
    }

    private void CheckStreams(long now, bool isReading)
    {
        // Backwards: the last stream takes the index of one that is closed.
        for (int i = streams.Count - 1; i >= 0 && !lifecycle.IsOver; i--)
        {
            Http3Stream stream = streams.All[i];
            SendStream send = stream.Quic.Send;
            stream.ReleaseDelivered();
            if (!send.IsBlocked)
            {
                stream.WindowTimeout?.Stop();
            }
            else if ((stream.WindowTimeout ??= new WindowTimeout()).IsTooSlow(
                now, send.Buffer.SentEnd, isReading && send.Buffer.Start < send.Buffer.SentEnd, connection.Reactor))
            {
                streams.Reset(stream, Http3Error.RequestCancelled);
                continue;
            }

            if (stream.Input.SectionSinceMs != long.MaxValue && now - stream.Input.SectionSinceMs >= _headMs)
            {
                errors.Reset(stream, Http3Error.RequestCancelled);
            }
            else if (stream.IsProxied)
            {
                proxy.EndIfLate(stream);
            }
            else if (stream is { Preparation: null, Input.HasRequest: true, Request.IsAbandoned: false }
                && stream.Request.IsLate(now, reactorState.Limits))
            {
                Http3Streams.AbandonBody(stream);
            }
        }
    }
}
