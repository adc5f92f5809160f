using System.Diagnostics;
using Millrace.Http;
using Millrace.HttpServer.Sessions;
using Millrace.Quic.Streams;
using Millrace.QuicTransport;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// The server's own unidirectional streams of one connection: control, and QPACK's two (RFC 9114, section 6.2; RFC 9204, section 4.2). They
/// last as long as the connection. Reactor thread only.
/// </summary>
internal sealed class Http3ServerStreams(QuicServerConnection connection, SessionReactorState reactorState)
{
    private bool _isWanted;
    private bool _allowsConnectProtocol;
    private QuicStream? _control;
    private QuicStream? _decoder;

    /// <summary>GOAWAY's id, if it is due before the control stream could be opened; -1 for none.</summary>
    private long _owedGoAwayId = -1;

    /// <summary>Opens them, as soon as the client allows that many.</summary>
    public void Open(bool allowsConnectProtocol)
    {
        _isWanted = true;
        _allowsConnectProtocol = allowsConnectProtocol;
        OpenAllowed();
    }

    /// <summary>Opens those that the client has not allowed before.</summary>
    public void OpenAllowed()
    {
        if (!_isWanted)
        {
            return;
        }

        if (_control is null && TryOpen(Http3StreamType.Control, out _control))
        {
            Span<byte> settings = stackalloc byte[Http3FrameWriter.SettingsBytesMax];
            Write(_control!, settings[..WriteSettings(settings)]);
            if (_owedGoAwayId >= 0)
            {
                WriteGoAway(_owedGoAwayId);
            }
        }

        if (_control is not null && _decoder is null)
        {
            TryOpen(Http3StreamType.QpackDecoder, out _decoder);
        }
    }

    public bool Owns(QuicStream stream) => stream == _control || stream == _decoder;

    public void WriteGoAway(long id)
    {
        if (_control is null)
        {
            _owedGoAwayId = id;
            return;
        }

        Span<byte> frame = stackalloc byte[Http3FrameWriter.IdFrameBytesMax];
        Write(_control, frame[..Http3FrameWriter.GoAway(frame, id)]);
    }

    /// <summary>Writes what the QPACK decoder has to say, as far as there is room; it keeps the rest, within its limit.</summary>
    public void WriteInstructions(QpackDecoder decoder)
    {
        if (_decoder is not null && !decoder.Output.IsEmpty)
        {
            decoder.Advance(_decoder.Write(decoder.Output));
        }
    }

    private int WriteSettings(Span<byte> room)
    {
        Http3Limits limits = reactorState.Limits.Http3;
        var settings = new Http3Settings
        {
            TableBytesMax = limits.TableBytesMax,
            BlockedStreamsMax = limits.BlockedStreamsMax,
            SectionBytesMax = reactorState.HeadLimits.HeadBytesMax,
            EnablesConnect = _allowsConnectProtocol,
        };
        return Http3FrameWriter.Settings(room, settings);
    }

    private bool TryOpen(long type, out QuicStream? stream)
    {
        if (!connection.Connection.Streams.TryOpen(isBidirectional: false, out stream))
        {
            return false;
        }

        // Before all responses: it is little, and the client waits for it.
        stream!.SetPriority(urgency: 0, isIncremental: false);
        Span<byte> header = stackalloc byte[Http3Integer.BytesMax];
        Write(stream, header[..Http3FrameWriter.StreamType(header, type)]);
        return true;
    }

    /// <summary>There is always room for a block, and what is written here in a connection's life is less.</summary>
    private static void Write(QuicStream stream, ReadOnlySpan<byte> bytes)
    {
        int written = stream.Write(bytes);
        Debug.Assert(written == bytes.Length || !stream.IsOpen || !stream.Send.IsWritable);
    }
}
