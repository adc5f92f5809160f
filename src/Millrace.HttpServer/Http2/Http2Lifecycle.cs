using System.Diagnostics;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// The phases of one HTTP/2 session, and the only place that ends it. It announces each end by GOAWAY, which names the last request that
/// may have been served (RFC 9113, section 6.8). Reactor thread only.
/// </summary>
internal sealed class Http2Lifecycle(Connection connection, SessionReactorState reactorState, StreamHistory history)
{
    private SessionPhase _phase;

    public bool IsOver => _phase == SessionPhase.Over;

    /// <summary>Whether the client's first SETTINGS are still to come.</summary>
    public bool IsInPreface => _phase == SessionPhase.Preface;

    public bool IsServing => _phase == SessionPhase.Serving;

    /// <summary>Whether the session ends after its open streams.</summary>
    public bool IsDraining => _phase == SessionPhase.Draining;

    /// <summary>Whether the SETTINGS allow the client to ask for tunnels (RFC 8441): only where a rule may lead to an upstream.</summary>
    public bool AllowsConnectProtocol { get; } = reactorState.HasProxies;

    /// <summary>The last request that is served; later ones came after GOAWAY named the last.</summary>
    public int LastServedId { get; private set; } = int.MaxValue;

    /// <summary>When the preface must be complete; <see cref="long.MaxValue"/> if it is.</summary>
    public long PrefaceDueMs { get; private set; } = long.MaxValue;

    /// <summary>When the client must have acknowledged the SETTINGS; <see cref="long.MaxValue"/> if it has.</summary>
    public long SettingsDueMs { get; private set; } = long.MaxValue;

    /// <summary>When <see cref="SendFinalGoAway"/> is due; <see cref="long.MaxValue"/> without a notice.</summary>
    public long FinalGoAwayDueMs { get; private set; } = long.MaxValue;

    private static ReadOnlySpan<byte> DrainPing => "draining"u8;

    /// <summary>Writes the server's preface: its SETTINGS.</summary>
    public void Begin()
    {
        ReadOnlySpan<Setting> settings =
        [
            new(SettingId.MaxConcurrentStreams, (uint)reactorState.Limits.Http2.StreamsMax),
            new(SettingId.MaxHeaderListSize, (uint)reactorState.HeadLimits.HeadBytesMax),
            new(SettingId.NoRfc7540Priorities, 1),
            new(SettingId.EnableConnectProtocol, 1),
        ];
        settings = AllowsConnectProtocol ? settings : settings[..^1];
        connection.Advance(FrameWriter.Settings(connection.GetSpan(FrameWriter.SettingsBytes(settings.Length)), settings));
        PrefaceDueMs = reactorState.DueMs(reactorState.Limits.Head);
        AwaitSettingsAcknowledgement();
    }

    public void OnSettings()
    {
        if (IsInPreface)
        {
            Enter(SessionPhase.Serving);
            PrefaceDueMs = long.MaxValue;
        }
    }

    /// <summary>Gives the client the time to acknowledge the SETTINGS, from now on.</summary>
    public void AwaitSettingsAcknowledgement() => SettingsDueMs = reactorState.DueMs(reactorState.Limits.Http2.SettingsAck);

    public void OnSettingsAcknowledged() => SettingsDueMs = long.MaxValue;

    public void OnPingAcknowledged(ReadOnlySpan<byte> opaque)
    {
        if (opaque.SequenceEqual(DrainPing))
        {
            // Everything that the client sent before it received the GOAWAY has arrived by now.
            SendFinalGoAway();
        }
    }

    /// <summary>
    /// Begins to drain when the group stops. The client is asked to open no more streams, and requests that are in transit are still
    /// served: otherwise the client would have to repeat them.
    /// </summary>
    public void BeginDrain()
    {
        Enter(SessionPhase.GoAwayAnnounced);
        FinalGoAwayDueMs = reactorState.DueMs(reactorState.Limits.Http2.DrainNotice);
        WriteGoAway(int.MaxValue, Http2Error.NoError);
        connection.Advance(FrameWriter.Ping(connection.GetSpan(FrameWriter.PingBytes), DrainPing));
    }

    public void SendFinalGoAway()
    {
        if (_phase == SessionPhase.GoAwayAnnounced)
        {
            Enter(SessionPhase.Draining);
            FinalGoAwayDueMs = long.MaxValue;
            LastServedId = history.LastId;
            WriteGoAway(LastServedId, Http2Error.NoError);
        }
    }

    /// <summary>Ends the connection for an error, or for <see cref="Http2Error.NoError"/>, after the output that is written.</summary>
    public void Fail(Http2Error error)
    {
        if (!IsOver)
        {
            WriteGoAway(Math.Min(history.LastId, LastServedId), error);
            End();
        }
    }

    /// <summary>Ends the session without notice: the client is gone, or knows.</summary>
    public void End() => Enter(SessionPhase.Over);

    /// <summary>Refuses a connection beyond a limit: none of its requests were processed, so the client may send them again.</summary>
    public static void Refuse(Connection connection)
    {
        connection.Advance(FrameWriter.Settings(connection.GetSpan(FrameHeader.Size), []));
        connection.Advance(FrameWriter.GoAway(connection.GetSpan(FrameWriter.GoAwayBytes), lastStreamId: 0, Http2Error.NoError));
    }

    private void WriteGoAway(int lastStreamId, Http2Error error) =>
        connection.Advance(FrameWriter.GoAway(connection.GetSpan(FrameWriter.GoAwayBytes), lastStreamId, error));

    private void Enter(SessionPhase next)
    {
        Debug.Assert(next == SessionPhase.Over || next == _phase + 1, "each phase is followed by the next one, or is the last");
        _phase = next;
    }

    /// <summary>The phases in their order. Each is followed by the next one, when the event before it happens, or by the last.</summary>
    private enum SessionPhase : byte
    {
        /// <summary>At the beginning: the client's preface is not complete, its bytes and the SETTINGS after them.</summary>
        Preface,

        /// <summary>After the client's SETTINGS.</summary>
        Serving,

        /// <summary>After GOAWAY without a last request, as the group stops: requests may be in transit.</summary>
        GoAwayAnnounced,

        /// <summary>After the client acknowledged that, or had its time, and GOAWAY named the last request.</summary>
        Draining,

        /// <summary>After the last stream, an error, an idle time, or the end of the connection: nothing remains to be done.</summary>
        Over,
    }
}
