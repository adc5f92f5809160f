using System.Diagnostics;
using Millrace.Http;
using Millrace.HttpServer.Sessions;
using Millrace.Quic.Streams;
using Millrace.QuicTransport;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// The phases of one HTTP/3 session, and the only place that ends it. It announces an orderly end by GOAWAY, which names the first request
/// that was not served (RFC 9114, section 5.2); every end is a CONNECTION_CLOSE with a code. Reactor thread only.
/// </summary>
internal sealed class Http3Lifecycle(QuicServerConnection connection, SessionReactorState reactorState, Http3ServerStreams serverStreams)
{
    /// <summary>More than any stream of a client can have: the notice that requests will not be served for much longer.</summary>
    private const long NoRequestId = StreamId.CountMax * 4 - 4;

    private static readonly Action<object?> CloseIdle = static connection =>
        ((QuicServerConnection)connection!).Close(Http3Error.NoError, "");

    private SessionPhase _phase;

    public bool IsOver => _phase == SessionPhase.Over;

    public bool IsServing => _phase == SessionPhase.Serving;

    /// <summary>Whether the session ends after its open streams.</summary>
    public bool IsDraining => _phase == SessionPhase.Draining;

    /// <summary>Whether the SETTINGS allow the client to ask for tunnels (RFC 9220): only where a rule may lead to an upstream.</summary>
    public bool AllowsConnectProtocol { get; } = reactorState.HasProxies;

    /// <summary>The id of the first request that is not served, since GOAWAY named it.</summary>
    public long FirstRefusedId { get; private set; } = long.MaxValue;

    /// <summary>The id of the last request that was taken, or -1.</summary>
    public long LastTakenId { get; private set; } = -1;

    /// <summary>When the client's SETTINGS must have come; <see cref="long.MaxValue"/> if they have.</summary>
    public long SettingsDueMs { get; private set; } = long.MaxValue;

    /// <summary>When <see cref="SendFinalGoAway"/> is due; <see cref="long.MaxValue"/> without a notice.</summary>
    public long FinalGoAwayDueMs { get; private set; } = long.MaxValue;

    /// <summary>Begins when the handshake is complete.</summary>
    public void Begin()
    {
        SettingsDueMs = reactorState.DueMs(reactorState.Limits.Head);
        serverStreams.Open(AllowsConnectProtocol);
    }

    public void OnSettings() => SettingsDueMs = long.MaxValue;

    /// <summary>Notes a request that is processed: a client must not send it again after an orderly end.</summary>
    public void NoteTaken(long streamId) => LastTakenId = Math.Max(LastTakenId, streamId);

    /// <summary>
    /// Begins to drain when the group stops. The client is asked to open no more streams, and requests that are in transit are still
    /// served: otherwise the client would have to repeat them.
    /// </summary>
    public void BeginDrain()
    {
        if (IsServing)
        {
            Enter(SessionPhase.GoAwayAnnounced);
            FinalGoAwayDueMs = reactorState.DueMs(reactorState.Limits.Http3.DrainNotice);
            serverStreams.WriteGoAway(NoRequestId);
        }
    }

    public void SendFinalGoAway()
    {
        if (_phase == SessionPhase.GoAwayAnnounced)
        {
            Enter(SessionPhase.Draining);
            FinalGoAwayDueMs = long.MaxValue;
            WriteLastGoAway();
        }
    }

    /// <summary>
    /// Ends the connection, which is idle. A request of the client may be in transit: GOAWAY says that it was not processed (RFC 9114,
    /// section 3.3), unless another one has. It is sent first, as CONNECTION_CLOSE drops what streams have not sent.
    /// </summary>
    public void EndIdle()
    {
        if (IsOver)
        {
            return;
        }

        if (!IsDraining)
        {
            WriteLastGoAway();
        }

        End();
        connection.ScheduleSend();
        connection.Reactor.Defer(CloseIdle, connection);
    }

    /// <summary>Ends the connection at once, for an error of the client.</summary>
    public void Fail(long error, string reason)
    {
        if (!IsOver)
        {
            End();
            connection.Close(error, reason);
        }
    }

    /// <summary>Ends the connection for an exception, which is logged, as a connection over TCP ends with its handler.</summary>
    public void Fail(Exception error)
    {
        connection.Reactor.Log.HandlerFailed(error);
        Fail(Http3Error.InternalError, "");
    }

    /// <summary>Ends the session without notice: the connection has ended.</summary>
    public void End() => Enter(SessionPhase.Over);

    private void WriteLastGoAway()
    {
        FirstRefusedId = LastTakenId < 0 ? 0 : LastTakenId + 4;
        serverStreams.WriteGoAway(FirstRefusedId);
    }

    private void Enter(SessionPhase next)
    {
        Debug.Assert(next == SessionPhase.Over || next == _phase + 1, "each phase is followed by the next one, or is the last");
        _phase = next;
    }

    /// <summary>The phases in their order. Each is followed by the next one, when the event before it happens, or by the last.</summary>
    private enum SessionPhase : byte
    {
        /// <summary>At the beginning, when the handshake is complete: requests may come before the client's SETTINGS.</summary>
        Serving,

        /// <summary>After GOAWAY without a request, as the group stops: requests may be in transit.</summary>
        GoAwayAnnounced,

        /// <summary>After the client had its time, and GOAWAY named the first request that is not served.</summary>
        Draining,

        /// <summary>After the last stream, an error, an idle time, or the end of the connection: nothing remains to be done.</summary>
        Over,
    }
}
