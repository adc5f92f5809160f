using System.Buffers;
using System.Globalization;
using System.Text.Json;
using Millrace.Quic.Connections;
using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;

namespace Millrace.Server.Http3;

/// <summary>
/// Writes the events of one connection as qlog (version 0.3, JSON text sequences: RFC 7464), which qvis and other tools read: packets with
/// their frames, losses, and the values of recovery. Its connection's thread; files are written by <see cref="QlogFolder"/>.
/// </summary>
internal sealed class QlogTrace : IConnectionTrace, IDisposable
{
    /// <summary>Some ten thousand packets: then the trace ends, so that a long download does not fill the disk.</summary>
    private const long BytesMax = 16 * 1024 * 1024;

    private const int PieceBytes = 32 * 1024;
    private const byte RecordSeparator = 0x1E;
    private const double NsPerMs = 1_000_000;

    private readonly QuicConnection _connection;
    private readonly QlogFile _file;
    private readonly bool _isServer;
    private readonly ArrayBufferWriter<byte> _piece = new(PieceBytes);
    private readonly Utf8JsonWriter _json;
    private long? _startedAt;
    private long _now;
    private long _written;
    private int _keyUpdates;
    private bool _isEnded;

    /// <param name="connection">It exists, and nothing has happened to it.</param>
    /// <param name="file">Where the events go.</param>
    public QlogTrace(QuicConnection connection, QlogFile file)
    {
        _connection = connection;
        _file = file;
        _isServer = connection.IsServer;
        _json = new Utf8JsonWriter(_piece);
        Begin();
        _json.WriteString("qlog_version", "0.3");
        _json.WriteString("qlog_format", "JSON-SEQ");
        _json.WriteString("title", "Millrace");
        _json.WriteStartObject("trace");
        _json.WriteStartObject("vantage_point");
        _json.WriteString("type", _isServer ? "server" : "client");
        _json.WriteEndObject();
        _json.WriteStartObject("common_fields");
        _json.WriteString("ODCID", NameOf(connection));
        _json.WriteString("time_format", "relative");
        _json.WriteNumber("reference_time", DateTimeOffset.UtcNow.ToUnixTimeMilliseconds());
        _json.WriteEndObject();
        _json.WriteEndObject();
        End();
    }

    private double TimeMs => Math.Round((_now - _startedAt.GetValueOrDefault()) / NsPerMs, 6);

    /// <summary>The client's first destination id, by which other logs name the connection too.</summary>
    public static string NameOf(QuicConnection connection) => Convert.ToHexStringLower(connection.OriginalDestinationId.AsSpan);

    public void OnPacketSent(PacketKind kind, long number, int size, ReadOnlySpan<byte> frames, long now) =>
        WritePacket("transport:packet_sent", kind, number, size, frames, isServers: _isServer, now);

    public void OnPacketReceived(PacketKind kind, long number, int size, ReadOnlySpan<byte> frames, long now) =>
        WritePacket("transport:packet_received", kind, number, size, frames, isServers: !_isServer, now);

    public void OnPacketLost(PacketSpace space, long number, long now)
    {
        _now = Math.Max(_now, now);
        if (BeginEvent("recovery:packet_lost"))
        {
            WriteHeader(
                space switch
                {
                    PacketSpace.Initial => PacketKind.Initial,
                    PacketSpace.Handshake => PacketKind.Handshake,
                    _ => PacketKind.OneRtt,
                },
                number);
            EndEvent();
        }
    }

    public void OnAcknowledged(LossDetection recovery)
    {
        if (!BeginEvent("recovery:metrics_updated"))
        {
            return;
        }

        _json.WriteNumber("smoothed_rtt", recovery.Rtt.Smoothed / NsPerMs);
        _json.WriteNumber("latest_rtt", recovery.Rtt.Latest / NsPerMs);
        _json.WriteNumber("min_rtt", recovery.Rtt.Minimum / NsPerMs);
        _json.WriteNumber("rtt_variance", recovery.Rtt.Variation / NsPerMs);
        _json.WriteNumber("congestion_window", recovery.Congestion.Window);
        _json.WriteNumber("bytes_in_flight", recovery.Congestion.BytesInFlight);
        if (recovery.Congestion.SlowStartThreshold < long.MaxValue)
        {
            _json.WriteNumber("ssthresh", recovery.Congestion.SlowStartThreshold);
        }

        EndEvent();
    }

    public void OnClosed(in CloseReason reason)
    {
        if (BeginEvent("connectivity:connection_closed"))
        {
            _json.WriteString("owner", reason.Source == CloseSource.Peer == _isServer ? "client" : "server");
            _json.WriteNumber(reason.IsApplication ? "application_code" : "connection_code", reason.Code);
            _json.WriteString("trigger", reason.Source.ToString());
            _json.WriteString("reason", reason.Phrase);
            EndEvent();
        }

        Finish();
    }

    public void Dispose() => _json.Dispose();

    private void WritePacket(
        string name, PacketKind kind, long number, int size, ReadOnlySpan<byte> payload, bool isServers, long now)
    {
        _now = now;
        WriteKeyUpdates();
        if (!BeginEvent(name))
        {
            return;
        }

        WriteHeader(kind, number);
        _json.WriteStartObject("raw");
        _json.WriteNumber("length", size);
        _json.WriteEndObject();
        _json.WriteStartArray("frames");

        // The reader checks what the other end may send.
        var reader = new FrameReader(payload, kind, isServer: !isServers);
        while (reader.TryRead(out Frame frame, out _))
        {
            QlogFrames.Write(_json, frame);
        }

        _json.WriteEndArray();
        EndEvent();
    }

    /// <summary>Both ends update their keys together, so the server's stand for both.</summary>
    private void WriteKeyUpdates()
    {
        while (_keyUpdates < _connection.Keys.Updates && BeginEvent("security:key_updated"))
        {
            _json.WriteString("key_type", "server_1rtt_secret");
            _json.WriteNumber("generation", ++_keyUpdates);
            EndEvent();
        }
    }

    private void WriteHeader(PacketKind kind, long number)
    {
        _json.WriteStartObject("header");
        _json.WriteString("packet_type", kind switch
        {
            PacketKind.Initial => "initial",
            PacketKind.Handshake => "handshake",
            PacketKind.ZeroRtt => "0RTT",
            _ => "1RTT",
        });
        _json.WriteNumber("packet_number", number);
        _json.WriteEndObject();
    }

    /// <summary>False: the trace has ended.</summary>
    private bool BeginEvent(string name)
    {
        if (_isEnded)
        {
            return false;
        }

        _startedAt ??= _now;
        Begin();
        _json.WriteNumber("time", TimeMs);
        _json.WriteString("name", name);
        _json.WriteStartObject("data");
        return true;
    }

    private void EndEvent()
    {
        _json.WriteEndObject();
        End();
        if (_written + _piece.WrittenCount > BytesMax)
        {
            Begin();
            _json.WriteNumber("time", TimeMs);
            _json.WriteString("name", "loglevel:info");
            _json.WriteStartObject("data");
            _json.WriteString("message", string.Create(CultureInfo.InvariantCulture, $"The trace ends here, after {BytesMax} bytes."));
            _json.WriteEndObject();
            End();
            Finish();
        }
        else if (_piece.WrittenCount >= PieceBytes / 2)
        {
            Pass();
        }
    }

    private void Begin()
    {
        _piece.GetSpan(1)[0] = RecordSeparator;
        _piece.Advance(1);
        _json.Reset(_piece);
        _json.WriteStartObject();
    }

    private void End()
    {
        _json.WriteEndObject();
        _json.Flush();
        _piece.GetSpan(1)[0] = (byte)'\n';
        _piece.Advance(1);
    }

    private void Finish()
    {
        if (!_isEnded)
        {
            _isEnded = true;
            Pass();
            _file.Close();
            Dispose();
        }
    }

    /// <summary>Gives what was written to the thread that writes files.</summary>
    private void Pass()
    {
        _written += _piece.WrittenCount;
        _file.Write(_piece.WrittenSpan.ToArray());
        _piece.ResetWrittenCount();
    }
}

/// <summary>Frames as qlog names their members.</summary>
internal static class QlogFrames
{
    public static void Write(Utf8JsonWriter json, in Frame frame)
    {
        json.WriteStartObject();
        json.WriteString("frame_type", NameOf(frame.Type));
        switch (frame.Type)
        {
            case FrameType.Padding:
                json.WriteNumber("length", frame.PaddingLength);
                break;
            case FrameType.Ack:
                WriteAck(json, frame);
                break;
            case FrameType.Crypto:
                json.WriteNumber("offset", frame.Offset);
                json.WriteNumber("length", frame.Data.Length);
                break;
            case FrameType.Stream:
                json.WriteNumber("stream_id", frame.StreamId);
                json.WriteNumber("offset", frame.Offset);
                json.WriteNumber("length", frame.Data.Length);
                json.WriteBoolean("fin", frame.Fin);
                break;
            case FrameType.ResetStream:
                json.WriteNumber("stream_id", frame.StreamId);
                json.WriteNumber("error_code", frame.ErrorCode);
                json.WriteNumber("final_size", frame.FinalSize);
                break;
            case FrameType.StopSending:
                json.WriteNumber("stream_id", frame.StreamId);
                json.WriteNumber("error_code", frame.ErrorCode);
                break;
            case FrameType.MaxStreamData or FrameType.StreamDataBlocked:
                json.WriteNumber("stream_id", frame.StreamId);
                json.WriteNumber(frame.Type == FrameType.MaxStreamData ? "maximum" : "limit", frame.Maximum);
                break;
            case FrameType.MaxData:
                json.WriteNumber("maximum", frame.Maximum);
                break;
            case FrameType.DataBlocked:
                json.WriteNumber("limit", frame.Maximum);
                break;
            case FrameType.MaxStreamsBidirectional or FrameType.MaxStreamsUnidirectional:
                json.WriteString("stream_type", frame.IsBidirectional ? "bidirectional" : "unidirectional");
                json.WriteNumber("maximum", frame.Maximum);
                break;
            case FrameType.StreamsBlockedBidirectional or FrameType.StreamsBlockedUnidirectional:
                json.WriteString("stream_type", frame.IsBidirectional ? "bidirectional" : "unidirectional");
                json.WriteNumber("limit", frame.Maximum);
                break;
            case FrameType.NewConnectionId:
                json.WriteNumber("sequence_number", frame.SequenceNumber);
                json.WriteNumber("retire_prior_to", frame.RetirePriorTo);
                json.WriteString("connection_id", Convert.ToHexStringLower(frame.Data));
                break;
            case FrameType.RetireConnectionId:
                json.WriteNumber("sequence_number", frame.SequenceNumber);
                break;
            case FrameType.ConnectionClose or FrameType.ConnectionCloseApplication:
                json.WriteString("error_space", frame.Type == FrameType.ConnectionClose ? "transport" : "application");
                json.WriteNumber("error_code", frame.ErrorCode);
                json.WriteString("reason", System.Text.Encoding.UTF8.GetString(frame.Data));
                break;
        }

        json.WriteEndObject();
    }

    private static void WriteAck(Utf8JsonWriter json, in Frame frame)
    {
        json.WriteStartArray("acked_ranges");
        foreach (PacketRange range in frame.AckRanges)
        {
            json.WriteStartArray();
            json.WriteNumberValue(range.Smallest);
            json.WriteNumberValue(range.Largest);
            json.WriteEndArray();
        }

        json.WriteEndArray();
        if (frame.Ecn is { } ecn)
        {
            json.WriteNumber("ect1", ecn.Ect1);
            json.WriteNumber("ect0", ecn.Ect0);
            json.WriteNumber("ce", ecn.Ce);
        }
    }

    private static string NameOf(FrameType type) => type switch
    {
        FrameType.Padding => "padding",
        FrameType.Ping => "ping",
        FrameType.Ack or FrameType.AckEcn => "ack",
        FrameType.ResetStream => "reset_stream",
        FrameType.StopSending => "stop_sending",
        FrameType.Crypto => "crypto",
        FrameType.NewToken => "new_token",
        FrameType.Stream => "stream",
        FrameType.MaxData => "max_data",
        FrameType.MaxStreamData => "max_stream_data",
        FrameType.MaxStreamsBidirectional or FrameType.MaxStreamsUnidirectional => "max_streams",
        FrameType.DataBlocked => "data_blocked",
        FrameType.StreamDataBlocked => "stream_data_blocked",
        FrameType.StreamsBlockedBidirectional or FrameType.StreamsBlockedUnidirectional => "streams_blocked",
        FrameType.NewConnectionId => "new_connection_id",
        FrameType.RetireConnectionId => "retire_connection_id",
        FrameType.PathChallenge => "path_challenge",
        FrameType.PathResponse => "path_response",
        FrameType.ConnectionClose or FrameType.ConnectionCloseApplication => "connection_close",
        FrameType.HandshakeDone => "handshake_done",
        _ => "unknown",
    };
}
