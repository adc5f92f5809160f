using Millrace.Http;
using Millrace.Quic.Streams;

namespace Millrace.Server.Http3;

/// <summary>
/// The streams of a probe's connection beside its request's (RFC 9114, section 6): reads the server's control stream and QPACK's two, and
/// finds what a client must not accept there. What streams of other types carry is dropped. Reactor thread only.
/// </summary>
/// <param name="fields">The connection's decoder of fields, which allows no dynamic table.</param>
internal sealed class Http3ProbeStreams(QpackDecoder fields)
{
    private readonly Http3ControlReader _controlReader = new(isServer: false);
    private readonly byte[] _scratch = new byte[QpackDecoder.ScratchBytes(0, 0)];
    private QpackDecoderStreamReader _decoderReader;
    private QuicStream? _control;
    private QuicStream? _encoder;
    private QuicStream? _decoder;

    /// <summary>Processes what happened to one of them. Returns the code of the connection's error, or None.</summary>
    public long Read(QuicStream stream, StreamEvents events)
    {
        if (!stream.IsPeers)
        {
            // Section 6.2.1: the server does not ask for the end of the client's control stream.
            return (events & StreamEvents.StopSending) != 0 ? Http3Error.ClosedCriticalStream : Http3Error.None;
        }

        if (stream.IsBidirectional)
        {
            // Section 6.1: only extensions have such streams.
            return Http3Error.StreamCreationError;
        }

        if ((events & StreamEvents.Opened) != 0)
        {
            stream.Tag = new UnknownStream();
        }

        if ((events & StreamEvents.Reset) != 0)
        {
            return IsCritical(stream) ? Http3Error.ClosedCriticalStream : Http3Error.None;
        }

        return (events & StreamEvents.Readable) != 0 ? Read(stream) : Http3Error.None;
    }

    private bool IsCritical(QuicStream stream) => stream == _control || stream == _encoder || stream == _decoder;

    private long Read(QuicStream stream)
    {
        long error = Http3Error.None;
        while (error == Http3Error.None && stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            error = Take(stream, bytes, out int consumed);
            stream.Consume(consumed);
        }

        bool isClosed = error == Http3Error.None && stream.IsReadToEnd && IsCritical(stream);
        return isClosed ? Http3Error.ClosedCriticalStream : error;
    }

    private long Take(QuicStream stream, ReadOnlySpan<byte> bytes, out int consumed)
    {
        consumed = bytes.Length;
        if (stream == _control)
        {
            return _controlReader.Read(bytes, out consumed) == Http3ControlEvent.Error ? _controlReader.Error : Http3Error.None;
        }

        if (stream == _encoder)
        {
            return QpackResults.ErrorOfInstruction(fields.ReadInstructions(bytes, _scratch));
        }

        if (stream == _decoder)
        {
            return _decoderReader.Read(bytes);
        }

        if (stream.Tag is UnknownStream unknown)
        {
            consumed = 0;
            return unknown.Type.TryRead(bytes, ref consumed, out long type) ? Begin(stream, type) : Http3Error.None;
        }

        return Http3Error.None;
    }

    /// <summary>Learns what a stream is for.</summary>
    private long Begin(QuicStream stream, long type)
    {
        stream.Tag = null;
        switch (type)
        {
            case Http3StreamType.Control:
                return BeginCritical(stream, ref _control);
            case Http3StreamType.QpackEncoder:
                return BeginCritical(stream, ref _encoder);
            case Http3StreamType.QpackDecoder:
                return BeginCritical(stream, ref _decoder);
            case Http3StreamType.Push:
                // Section 4.6: no push was allowed.
                return Http3Error.IdError;
            default:
                return Http3Error.None;
        }
    }

    private static long BeginCritical(QuicStream stream, ref QuicStream? known)
    {
        bool isSecond = known is not null;
        known ??= stream;
        return isSecond ? Http3Error.StreamCreationError : Http3Error.None;
    }

    /// <summary>A stream whose type is not known yet.</summary>
    private sealed class UnknownStream
    {
        /// <summary>Its first bytes; a mutable struct.</summary>
        public Http3IntegerReader Type;
    }
}
