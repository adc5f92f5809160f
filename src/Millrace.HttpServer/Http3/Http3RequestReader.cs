using System.Buffers;
using System.Diagnostics;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Sessions;
using Millrace.Quic.Streams;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// Reads the frames of one connection's request streams (RFC 9114, sections 4.1 and 7). What is not read yet stays with the transport,
/// whose windows limit it. Reactor thread only.
/// </summary>
internal sealed class Http3RequestReader(
    SessionReactorState reactorState,
    Http3Lifecycle lifecycle,
    Http3FieldSections sections,
    Http3StreamErrors errors,
    Http3Requests requests,
    Http3Proxy proxy,
    TokenBucket overheadFrames)
{
    /// <summary>A DATA frame below this size costs more than it brings.</summary>
    private const int TinyDataBytes = 64;

    /// <summary>The bytes of an unknown frame that are charged as one frame.</summary>
    private const int SkippedBytesPerFrame = 16 * 1024;

    /// <summary>More than any client has earned.</summary>
    private const int SkippedFramesMax = 1_000_000;

    /// <summary>Pieces of one field section. Each copies no more than what arrived, so that only their memory needs a limit.</summary>
    private const int SectionPiecesMax = int.MaxValue;

    /// <summary>Processes what has arrived of a request, as far as it can be taken now.</summary>
    public void Read(Http3Stream stream)
    {
        while (IsReading(stream))
        {
            QuicStream quic = stream.Quic;
            _ = quic.TryRead(out ReadOnlySpan<byte> bytes);
            Http3FrameEvent happened = stream.Input.Frames.Read(bytes, out int consumed, out ReadOnlySpan<byte> payload);
            consumed -= Take(stream, happened, payload);
            if (lifecycle.IsOver || quic.Receive.IsStopped)
            {
                return;
            }

            if (consumed > 0)
            {
                quic.Consume(consumed);
            }

            if (happened == Http3FrameEvent.End)
            {
                EndFrame(stream);
            }
            else if (happened == Http3FrameEvent.NeedMore && !quic.TryRead(out _))
            {
                if (quic.IsReadToEnd && IsReading(stream))
                {
                    TakeEnd(stream);
                }

                return;
            }
        }
    }

    /// <summary>Continues with a request whose field section can be decoded now.</summary>
    public void Unblock(Http3Stream stream)
    {
        if (stream.Input.IsBlocked && !stream.Quic.Receive.IsStopped)
        {
            stream.Input.IsBlocked = false;
            EndSection(stream);
            Read(stream);
        }
    }

    /// <summary>Whether there is more that may be read now. A request that an upstream may get waits for its plan.</summary>
    private bool IsReading(Http3Stream stream) =>
        !lifecycle.IsOver
        && stream.Input is { IsOver: false, IsBlocked: false, IsHeld: false }
        && !stream.IsCut
        && !stream.Quic.Receive.IsStopped
        && (stream.Preparation is null || !reactorState.HasProxies);

    /// <summary>Processes an event of a frame; returns how many bytes of its payload are not taken now.</summary>
    private int Take(Http3Stream stream, Http3FrameEvent happened, ReadOnlySpan<byte> payload)
    {
        Http3RequestInput input = stream.Input;
        switch (happened)
        {
            case Http3FrameEvent.Error:
                lifecycle.Fail(input.Frames.Error, "A frame on a request's stream is not valid");
                break;
            case Http3FrameEvent.Begin:
                Begin(input);
                break;
            case Http3FrameEvent.Payload when input.Frames.Type == Http3FrameType.Headers:
                TakeSection(stream, payload);
                break;
            case Http3FrameEvent.Payload when input.Frames.Type == Http3FrameType.Data:
                return TakeData(stream, payload);
        }

        return 0;
    }

    /// <summary>Charges frames that neither request nor carry anything, and limits field sections.</summary>
    private void Begin(Http3RequestInput input)
    {
        if (input.Frames.Type == Http3FrameType.Headers)
        {
            input.SectionSinceMs = Math.Min(input.SectionSinceMs, reactorState.NowMs);

            // A coded section is not larger than its decoded fields. A head that is slightly too large gets an error response; a much
            // larger one is not read.
            if (input.Frames.Length > 2 * reactorState.HeadLimits.HeadBytesMax)
            {
                lifecycle.Fail(Http3Error.ExcessiveLoad, "A field section is much too large");
            }
        }
        else if ((input.Frames.Type != Http3FrameType.Data || input.Frames.Length < TinyDataBytes)
            && !overheadFrames.TrySpend(CostOf(input.Frames), reactorState.NowMs))
        {
            lifecycle.Fail(Http3Error.ExcessiveLoad, "Too many frames that carry nothing");
        }
    }

    /// <summary>A frame of HTTP/2 has 16 KiB at most; one that is skipped here costs as much as so many of those.</summary>
    private static int CostOf(in Http3FrameReader frames) =>
        frames.IsKnown ? 1 : (int)Math.Min(1 + (frames.Length / SkippedBytesPerFrame), SkippedFramesMax);

    private void EndFrame(Http3Stream stream)
    {
        if (stream.Input.Frames.Type == Http3FrameType.Headers)
        {
            EndSection(stream);
        }
    }

    /// <summary>Decodes a section that arrived in one piece, where it is; gathers another one.</summary>
    private void TakeSection(Http3Stream stream, ReadOnlySpan<byte> piece)
    {
        Http3RequestInput input = stream.Input;
        if (piece.Length == input.Frames.Length)
        {
            input.Result = Decode(stream, piece);
            input.IsDecoded = true;
        }

        if (!input.IsDecoded || input.Result == QpackResult.Blocked)
        {
            int heldBytes = input.Section.HeldBytes;
            _ = input.Section.TryAdd(piece, 2 * reactorState.HeadLimits.HeadBytesMax, SectionPiecesMax);
            stream.Hold(input.Section.HeldBytes - heldBytes);
        }
    }

    private QpackResult Decode(Http3Stream stream, ReadOnlySpan<byte> section)
    {
        if (!stream.Input.Frames.IsTrailers)
        {
            RequestFields fields = reactorState.Http3.Fields;
            fields.Begin(lifecycle.AllowsConnectProtocol, isHttp3: true);
            return sections.Decode(stream.Id, section, fields);
        }

        var trailers = new TrailerFields(reactorState.HeadLimits.HeadBytesMax)
        {
            Lines = stream.IsProxied ? new ArrayBufferWriter<byte>() : null,
        };
        stream.Input.Trailers = trailers;
        return sections.Decode(stream.Id, section, trailers);
    }

    /// <summary>Takes a field section whose last byte was consumed: a request, or its trailers.</summary>
    private void EndSection(Http3Stream stream)
    {
        Http3RequestInput input = stream.Input;
        QpackResult result = input.IsDecoded ? input.Result : Decode(stream, input.Section.Bytes);
        input.IsDecoded = false;
        if (result == QpackResult.Blocked)
        {
            input.IsBlocked = true;
            return;
        }

        input.SectionSinceMs = long.MaxValue;
        stream.Hold(-input.Section.HeldBytes);
        input.Section.Return();
        if (result == QpackResult.TooLarge)
        {
            lifecycle.Fail(Http3Error.ExcessiveLoad, "Field sections expand to too much");
        }
        else if (result != QpackResult.Ok)
        {
            lifecycle.Fail(QpackResults.ErrorOfSection(result), $"A field section is not valid: {result}");
        }
        else if (input.Frames.IsTrailers)
        {
            EndTrailers(stream, input.Trailers!);
        }
        else
        {
            input.IsOver = input.HasEnded = stream.Quic.IsReadToEnd;
            requests.Take(stream, isComplete: input.IsOver);
        }
    }

    private void EndTrailers(Http3Stream stream, TrailerFields trailers)
    {
        if (trailers.Refusal != HeadRefusal.None)
        {
            errors.Reset(stream, Http3Error.MessageError);
        }
    }

    /// <summary>Counts and drops body data, which no response needs, or passes it on; returns how much was not taken.</summary>
    private int TakeData(Http3Stream stream, ReadOnlySpan<byte> data)
    {
        Http3RequestInput input = stream.Input;
        ref IncomingBody body = ref stream.Request;

        // What an upstream did not take before comes again at the beginning, and was counted then.
        int freshBytes = data.Length - input.CountedBytes;
        Debug.Assert(freshBytes >= 0);
        input.CountedBytes = 0;
        if (!body.TryTake(freshBytes, reactorState.NowMs))
        {
            errors.Reset(stream, Http3Error.MessageError);
        }
        else if (stream.IsProxied)
        {
            int left = data.Length - proxy.TakeData(stream, data);
            if (left > 0)
            {
                input.Frames.Unread(left);
                input.CountedBytes = left;
                input.IsHeld = true;
            }

            return left;
        }
        else if (!body.IsAbandoned && body.Bytes > reactorState.Limits.SkippedBodyBytesMax)
        {
            // Beyond the skip limit the client is asked to send no more.
            Http3Streams.AbandonBody(stream);
        }

        return 0;
    }

    /// <summary>The client has ended its side of a stream.</summary>
    private void TakeEnd(Http3Stream stream)
    {
        stream.Input.IsOver = stream.Input.HasEnded = true;
        long error = stream.Input.Frames.ErrorOfEnd;
        if (error == Http3Error.FrameError)
        {
            lifecycle.Fail(error, "A request's stream ends within a frame");
        }
        else if (error != Http3Error.None)
        {
            errors.Reset(stream, error);
        }
        else if (!stream.Request.TryEnd())
        {
            errors.Reset(stream, Http3Error.MessageError);
        }
        else if (stream.IsProxied)
        {
            proxy.EndBody(stream, stream.Input.Trailers is { Lines: { } lines } ? lines.WrittenSpan : default);
        }
    }
}
