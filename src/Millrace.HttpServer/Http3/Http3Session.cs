using Millrace.Engine;
using Millrace.Engine.Loop;
using Millrace.Http;
using Millrace.HttpServer.Sessions;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.QuicTransport;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// Serves HTTP/3 on one connection (RFC 9114), from its completed handshake. There is no loop: everything is done in callbacks, of the
/// transport, of file reads and upstreams, and of what requests wait for. The transport sends what was written at the end of the iteration.
/// </summary>
/// <remarks>
/// The session owns these, each of which knows those before it:
/// <code>
/// Http3ServerStreams   the server's own control and QPACK streams
/// Http3Lifecycle       the phases, GOAWAY, the end
/// Http3FieldSections   QPACK
/// Http3Streams         opens and ends request streams
/// Http3ResponseWriter  plans to heads, and bodies
/// Http3Proxy           requests to upstreams
/// Http3StreamErrors    errors of single requests, rapid reset
/// Http3StreamTimeouts  clients that let streams make no progress
/// Http3Requests        fields to plans
/// Http3RequestReader   frames of requests
/// Http3ClientStreams   the client's control and QPACK streams
/// </code>
/// What one connection can hold is limited by the transport: streams, what is received and not read, what is written and not acknowledged.
/// The session reads on only what it can process, so it keeps nothing but field sections that are incomplete or blocked. Nothing is
/// allocated for a request once streams and buffers exist. Reactor thread only.
/// </remarks>
internal sealed class Http3Session : QuicServerHandler, IHttp3StreamOwner
{
    /// <summary>The memory of this object with its members, without streams.</summary>
    private const int HeldBytes = 4 * 1024;

    /// <summary>Bytes of bodies that allow the client two frames which carry little.</summary>
    private const int BodyBytesPerFrame = 4 * 1024;

    private readonly QuicServerConnection _connection;
    private readonly SessionReactorState _reactorState;
    private readonly TokenBucket _overheadFrames;
    private readonly Http3ServerStreams _serverStreams;
    private readonly Http3Lifecycle _lifecycle;
    private readonly Http3FieldSections _sections;
    private readonly Http3Streams _streams;
    private readonly Http3ResponseWriter _responses;
    private readonly Http3Proxy _proxy;
    private readonly Http3StreamErrors _errors;
    private readonly Http3StreamTimeouts _timeouts;
    private readonly Http3RequestReader _reader;
    private readonly Http3ClientStreams _clientStreams;
    private long _idleSinceMs;

    /// <summary>Whether reads of files outlive the connection.</summary>
    private bool _keepsHoldings;

    /// <summary>The time that the transport's timer is set to.</summary>
    private long _deadlineMs = TimeLimit.Never;

    /// <param name="connection">The connection, whose handshake is complete.</param>
    /// <param name="reactorState">The state of its reactor.</param>
    /// <param name="isCovered">Whether the connection's certificate covers a host; null if the connection is for all hosts.</param>
    public Http3Session(QuicServerConnection connection, SessionReactorState reactorState, Func<ReadOnlySpan<byte>, bool>? isCovered)
    {
        _connection = connection;
        _reactorState = reactorState;
        Http3Limits limits = reactorState.Limits.Http3;
        _overheadFrames = new TokenBucket(limits.OverheadFramesMax, limits.OverheadFramesPerSecond);
        _serverStreams = new Http3ServerStreams(connection, reactorState);
        _lifecycle = new Http3Lifecycle(connection, reactorState, _serverStreams);
        _sections = new Http3FieldSections(connection, reactorState, _serverStreams);
        _streams = new Http3Streams(connection, reactorState, this);
        _responses = new Http3ResponseWriter(connection, reactorState, _streams);
        _proxy = new Http3Proxy(connection, reactorState, this, _streams, _responses);
        _errors = new Http3StreamErrors(reactorState, _lifecycle, _streams);
        _timeouts = new Http3StreamTimeouts(connection, reactorState, _lifecycle, _streams, _errors, _proxy);
        var requests = new Http3Requests(connection, reactorState, _lifecycle, _streams, _responses, _proxy, _errors, isCovered);
        _reader = new Http3RequestReader(
            reactorState, _lifecycle, _sections, _errors, requests, _proxy, _overheadFrames);
        requests.Planned = ReadOn;
        _streams.Progressed = OnProgressed;
        _clientStreams = new Http3ClientStreams(
            connection, reactorState, _lifecycle, _sections, requests, _overheadFrames);
    }

    private long NowMs => _reactorState.NowMs;

    /// <summary>
    /// How long the connection may be without a stream in use. After GOAWAY the client closes it when its application has read all; what is
    /// not read yet may be lost with the connection (RFC 9000, section 10.2), so that it gets some time.
    /// </summary>
    private long IdleMs => _lifecycle.IsDraining
        ? (long)_reactorState.Limits.Http3.DrainLinger.TotalMilliseconds
        : _reactorState.KeepAliveMs;

    /// <inheritdoc/>
    public override void OnHandshakeComplete(QuicConnection connection)
    {
        _connection.Holdings.ChargeManaged(HeldBytes);
        _idleSinceMs = NowMs;
        _lifecycle.Begin();
        EndCallback();
    }

    /// <inheritdoc/>
    public override void OnStreamsAvailable(QuicConnection connection) => _serverStreams.OpenAllowed();

    /// <inheritdoc/>
    public override void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        if (_lifecycle.IsOver)
        {
            return;
        }

        if (stream.IsBidirectional)
        {
            OnRequestStream(stream, events);
        }
        else if (stream.IsPeers)
        {
            _clientStreams.OnStream(stream, events);
            Unblock();
        }
        else if ((events & StreamEvents.StopSending) != 0)
        {
            _lifecycle.Fail(Http3Error.ClosedCriticalStream, "A control or QPACK stream was refused");
        }

        EndCallback();
    }

    /// <inheritdoc/>
    public override void OnDeadline()
    {
        _deadlineMs = TimeLimit.Never;
        if (!_lifecycle.IsOver)
        {
            CheckDeadlines();
            _connection.ScheduleSend();
            EndCallback();
        }
    }

    /// <inheritdoc/>
    public override void BeginDrain()
    {
        _lifecycle.BeginDrain();
        _connection.ScheduleSend();
        EndCallback();
    }

    /// <inheritdoc/>
    public override void OnClosed(QuicConnection connection, in CloseReason reason)
    {
        _lifecycle.End();
        _streams.CloseAll();
        if (_streams.ReadsInFlight > 0)
        {
            _keepsHoldings = true;
            _connection.KeepHoldings();
        }

        _sections.Release();
        _connection.Holdings.ChargeManaged(-HeldBytes);
    }

    /// <inheritdoc/>
    public void ScheduleSend() => _connection.ScheduleSend();

    /// <inheritdoc/>
    public void ReadOn(Http3Stream stream)
    {
        if (!_lifecycle.IsOver)
        {
            stream.Input.IsHeld = false;
            _reader.Read(stream);
            _connection.ScheduleSend();
            EndCallback();
        }
    }

    /// <inheritdoc/>
    public void Fail(Exception error) => _lifecycle.Fail(error);

    /// <inheritdoc/>
    public void OnReadsEnded()
    {
        if (_keepsHoldings)
        {
            _keepsHoldings = false;
            _connection.ReleaseHoldings();
        }
    }

    /// <inheritdoc/>
    /// <remarks>As over HTTP/2: each message of a WebSocket may be a small frame, and be answered by one.</remarks>
    public void OnBodyWritten(int bytes) => _overheadFrames.Earn(2 * ((bytes + BodyBytesPerFrame - 1) / BodyBytesPerFrame));

    /// <inheritdoc/>
    public void OnAnswered(Http3Stream stream)
    {
        _errors.Earn();
        _overheadFrames.Earn(4);
    }

    /// <inheritdoc/>
    public void OnCut(Http3Stream stream)
    {
        stream.Input.GiveUp();
        stream.Hold(-stream.Input.Section.HeldBytes);
        stream.Input.Section.Return();
        if (!stream.Input.HasEnded && !_lifecycle.IsOver)
        {
            stream.Input.HasEnded = true;
            _sections.Cancel(stream.Id);
        }
    }

    /// <summary>Continues with responses whose files were read, or whose producers have made progress.</summary>
    private void OnProgressed()
    {
        if (!_lifecycle.IsOver)
        {
            _responses.Scheduler.TakeReads();
            if (_streams.SourcesProgressed > 0)
            {
                _proxy.TakeProgress();
            }
        }
    }

    private void OnRequestStream(QuicStream quic, StreamEvents events)
    {
        if ((events & StreamEvents.Opened) != 0)
        {
            Open(quic);
        }

        if (quic.Tag is not Http3Stream stream)
        {
            return;
        }

        if ((events & (StreamEvents.Reset | StreamEvents.StopSending)) != 0)
        {
            OnGivenUp(stream, events);
        }
        else if ((events & StreamEvents.Readable) != 0)
        {
            _reader.Read(stream);
        }

        if ((events & StreamEvents.Writable) != 0 && !_lifecycle.IsOver)
        {
            _responses.Scheduler.Continue(stream);
            _proxy.Continue(stream);
        }

        if ((events & StreamEvents.Closed) != 0 && !_lifecycle.IsOver)
        {
            Close(stream);
        }
    }

    private void Open(QuicStream quic)
    {
        Http3Stream stream = _streams.Open(quic);
        stream.Input.SectionSinceMs = NowMs;
        if (_streams.Count == 1)
        {
            _timeouts.Restart();
        }

        if (quic.Id >= _lifecycle.FirstRefusedId)
        {
            // Section 5.2: the client knows, and sends the request elsewhere.
            _errors.Reset(stream, Http3Error.RequestRejected);
        }
    }

    /// <summary>
    /// Rejects the requests whose heads are not complete when GOAWAY has named the first one that is not served: their client may send them
    /// again elsewhere, so that they must not be served here, too.
    /// </summary>
    private void RejectIncomplete()
    {
        foreach (Http3Stream stream in _streams.All)
        {
            if (stream.Id >= _lifecycle.FirstRefusedId)
            {
                _streams.Reset(stream, Http3Error.RequestRejected);
            }
        }
    }

    /// <summary>The client does not want the response any more, or does not complete the request.</summary>
    private void OnGivenUp(Http3Stream stream, StreamEvents events)
    {
        stream.Input.GiveUp();
        bool isRefused = (events & StreamEvents.StopSending) != 0;
        if (stream is { IsAnswered: true, IsProxied: false } && !isRefused)
        {
            // It needs to send no more, and still gets what is not delivered of the response (section 4.1).
            stream.Request.IsAbandoned = true;
            return;
        }

        if (!stream.IsAnswered && !_errors.Charge())
        {
            return;
        }

        if (!isRefused)
        {
            _streams.Reset(stream, Http3Error.RequestCancelled);
        }
        else
        {
            _streams.OnStopSending(stream);
        }
    }

    private void Close(Http3Stream stream)
    {
        _timeouts.OnClosed(stream);
        _streams.OnClosed(stream);
        if (_streams.Count == 0)
        {
            _idleSinceMs = NowMs;
        }
    }

    /// <summary>Continues with the requests whose fields can be decoded since the table has more entries.</summary>
    private void Unblock()
    {
        while (!_lifecycle.IsOver && _sections.TryTakeUnblocked(out long streamId))
        {
            if (_connection.Connection.Streams.Find(streamId)?.Tag is Http3Stream stream)
            {
                _reader.Unblock(stream);
            }
        }
    }

    /// <summary>Ends each callback: informs the client's encoder, ends a session that is complete, and sets the timer.</summary>
    private void EndCallback()
    {
        if (_lifecycle.IsOver)
        {
            return;
        }

        FailFor(_sections.WriteOutput());
        if (_lifecycle.IsOver)
        {
            return;
        }

        long next = NextDeadlineMs();
        if (next < _deadlineMs)
        {
            _deadlineMs = next;
            _connection.SetDeadline(next);
        }
    }

    /// <summary>A client that takes nothing of what its encoder asked for has too much of it kept here.</summary>
    private void FailFor(QpackResult result)
    {
        long error = QpackResults.ErrorOfSection(result);
        if (error != Http3Error.None)
        {
            _lifecycle.Fail(error, "The decoder stream is not read");
        }
    }

    /// <summary>The next time at which the session must check its deadlines.</summary>
    private long NextDeadlineMs()
    {
        long at = _streams.Count == 0 ? _idleSinceMs + IdleMs : _timeouts.DueMs;
        return Math.Min(Math.Min(at, FrameDueMs()), Math.Min(_lifecycle.SettingsDueMs, _lifecycle.FinalGoAwayDueMs));
    }

    private long FrameDueMs() => _clientStreams.FrameSinceMs == long.MaxValue
        ? long.MaxValue
        : _clientStreams.FrameSinceMs + (long)_reactorState.Limits.Head.TotalMilliseconds;

    private void CheckDeadlines()
    {
        long now = NowMs;
        if (now >= _lifecycle.SettingsDueMs)
        {
            _lifecycle.Fail(Http3Error.MissingSettings, "The client has sent no SETTINGS");
        }
        else if (now >= FrameDueMs())
        {
            _lifecycle.Fail(Http3Error.ExcessiveLoad, "A frame of the control stream is not complete");
        }

        if (now >= _lifecycle.FinalGoAwayDueMs && !_lifecycle.IsOver)
        {
            _lifecycle.SendFinalGoAway();
            RejectIncomplete();
            _idleSinceMs = now;
        }

        _timeouts.CheckIfDue();
        if (_timeouts.IsAnyInUse())
        {
            _idleSinceMs = now;
        }
        else if (now >= _idleSinceMs + IdleMs)
        {
            _lifecycle.EndIdle();
        }
    }
}
