using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Sessions;
using Millrace.Quic.Streams;
using Millrace.QuicTransport;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// The client's unidirectional streams of one connection (RFC 9114, section 6.2): its control stream, QPACK's two, and others, which are
/// not read. Reactor thread only.
/// </summary>
internal sealed class Http3ClientStreams(
    QuicServerConnection connection,
    SessionReactorState reactorState,
    Http3Lifecycle lifecycle,
    Http3FieldSections sections,
    Http3Requests requests,
    TokenBucket overheadFrames)
{
    /// <summary>Bytes of the encoder stream charged as one frame: a table's worth. What instructions copy, the decoder limits.</summary>
    private const int InstructionBytesPerFrame = 4096;

    private readonly Http3ControlReader _controlReader = new(isServer: true);
    private QpackDecoderStreamReader _decoderReader;
    private QuicStream? _control;
    private QuicStream? _encoder;
    private QuicStream? _decoder;

    /// <summary>Bytes of the encoder stream that are not charged yet.</summary>
    private int _instructionBytes;

    /// <summary>Since when a frame on the control stream is not complete; <see cref="long.MaxValue"/> if all are.</summary>
    public long FrameSinceMs { get; private set; } = long.MaxValue;

    /// <summary>Processes what happened to one of them.</summary>
    public void OnStream(QuicStream quic, StreamEvents events)
    {
        if ((events & StreamEvents.Opened) != 0)
        {
            quic.Tag = new UnknownStream();
        }

        if ((events & StreamEvents.Reset) != 0 && IsCritical(quic))
        {
            FailClosed();
        }
        else if ((events & StreamEvents.Readable) != 0)
        {
            Read(quic);
        }
    }

    private bool IsCritical(QuicStream quic) => quic == _control || quic == _encoder || quic == _decoder;

    /// <summary>Section 6.2.1, and RFC 9204, section 4.2.</summary>
    private void FailClosed() => lifecycle.Fail(Http3Error.ClosedCriticalStream, "A control or QPACK stream was closed");

    private void Read(QuicStream quic)
    {
        while (!lifecycle.IsOver && quic.TryRead(out ReadOnlySpan<byte> bytes))
        {
            int consumed = bytes.Length;
            if (quic == _control)
            {
                TakeControl(bytes, out consumed);
            }
            else if (quic == _encoder)
            {
                TakeInstructions(bytes);
            }
            else if (quic == _decoder)
            {
                FailFor(_decoderReader.Read(bytes), "The decoder stream is not valid");
            }
            else if (quic.Tag is UnknownStream unknown)
            {
                consumed = 0;
                if (unknown.Type.TryRead(bytes, ref consumed, out long type))
                {
                    Begin(quic, type);
                }
            }

            if (lifecycle.IsOver || quic.Receive.IsStopped)
            {
                return;
            }

            quic.Consume(consumed);
        }

        if (quic.IsReadToEnd && IsCritical(quic))
        {
            FailClosed();
        }
    }

    /// <summary>Learns what a stream is for.</summary>
    private void Begin(QuicStream quic, long type)
    {
        quic.Tag = null;
        switch (type)
        {
            case Http3StreamType.Control:
                BeginCritical(quic, ref _control);
                break;
            case Http3StreamType.QpackEncoder:
                BeginCritical(quic, ref _encoder);
                break;
            case Http3StreamType.QpackDecoder:
                BeginCritical(quic, ref _decoder);
                break;
            case Http3StreamType.Push:
                // Section 6.2.2: only servers push.
                lifecycle.Fail(Http3Error.StreamCreationError, "A client cannot push");
                break;
            default:
                // Section 6.2: streams of unknown types are not errors, and need not be read.
                quic.StopSending(Http3Error.StreamCreationError);
                Charge(1);
                break;
        }
    }

    private void BeginCritical(QuicStream quic, ref QuicStream? known)
    {
        if (known is null)
        {
            known = quic;
        }
        else
        {
            lifecycle.Fail(Http3Error.StreamCreationError, "There is one stream of this type already");
        }
    }

    private void TakeControl(ReadOnlySpan<byte> bytes, out int consumed)
    {
        Http3ControlEvent happened = _controlReader.Read(bytes, out consumed);
        FrameSinceMs = _controlReader.IsWithinFrame ? Math.Min(FrameSinceMs, reactorState.NowMs) : long.MaxValue;
        switch (happened)
        {
            case Http3ControlEvent.NeedMore:
                return;
            case Http3ControlEvent.Error:
                FailFor(_controlReader.Error, "A frame of the control stream is not valid");
                return;
            case Http3ControlEvent.Settings:
                lifecycle.OnSettings();
                return;
            case Http3ControlEvent.PriorityUpdate:
                Prioritize(_controlReader.Id, _controlReader.Priority);
                break;
        }

        // GOAWAY announces that the client accepts no more pushes, of which there are none; so does MAX_PUSH_ID allow them for nothing.
        Charge(1);
    }

    private void Prioritize(long streamId, StreamPriority priority)
    {
        ConnectionStreams all = connection.Connection.Streams;
        StreamCounts counts = all.CountsOf(isBidirectional: true);
        long index = StreamId.IndexOf(streamId);
        if (index >= counts.PeerLimit)
        {
            // RFC 9218, section 7.2: a stream beyond the limit could not be opened.
            lifecycle.Fail(Http3Error.IdError, "The priority of a stream that cannot exist");
        }
        else if (all.Find(streamId)?.Tag is Http3Stream { Input.HasRequest: true } stream)
        {
            Http3Streams.Prioritize(stream, priority);
        }
        else
        {
            requests.Prioritize(streamId, priority);
        }
    }

    private void TakeInstructions(ReadOnlySpan<byte> bytes)
    {
        _instructionBytes += bytes.Length;
        Charge(_instructionBytes / InstructionBytesPerFrame);
        _instructionBytes %= InstructionBytesPerFrame;
        if (!lifecycle.IsOver)
        {
            FailFor(QpackResults.ErrorOfInstruction(sections.ReadInstructions(bytes)), "The encoder stream is not valid");
        }
    }

    private void Charge(int frames)
    {
        if (frames > 0 && !overheadFrames.TrySpend(frames, reactorState.NowMs))
        {
            lifecycle.Fail(Http3Error.ExcessiveLoad, "Too much that carries nothing");
        }
    }

    private void FailFor(long error, string reason)
    {
        if (error != Http3Error.None)
        {
            lifecycle.Fail(error, reason);
        }
    }

    /// <summary>A stream whose type is not known yet.</summary>
    private sealed class UnknownStream
    {
        /// <summary>Its first bytes; a mutable struct.</summary>
        public Http3IntegerReader Type;
    }
}
