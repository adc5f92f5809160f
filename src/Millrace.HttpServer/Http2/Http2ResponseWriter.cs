using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http2;

/// <summary>Writes responses as frames of HTTP/2, and bodies into the <see cref="SendQueue"/>. Reactor thread only.</summary>
internal sealed class Http2ResponseWriter(
    Connection connection, SessionReactorState reactorState, SendQueue queue, Http2Streams streams, AlternativeService? alternative)
    : StreamResponseWriter<FieldBlockWriter>(connection, reactorState)
{
    private bool _owesTableUpdate;
    private uint _tableBytes = HpackDecoder.TableBytesMax;

    protected override ReadOnlySpan<byte> DateLine => ReactorState.Date.HpackAt(ReactorState.NowMs);

    protected override ReadOnlySpan<byte> OwnLines => alternative is null ? default : alternative.Block;

    /// <summary>
    /// The encoder uses no dynamic table; a client that reduces the table size gets one update, in the next block (RFC 7541, section 4.2).
    /// </summary>
    public void SetTable(uint bytes)
    {
        _owesTableUpdate |= bytes < _tableBytes;
        _tableBytes = bytes;
    }

    /// <summary>Ends a response after its body: by an empty frame, or by its trailers, of which those that may pass are written.</summary>
    public void WriteEnd(Http2Stream stream, ReadOnlySpan<byte> trailerLines)
    {
        if (trailerLines.IsEmpty)
        {
            queue.SendAtOnce(stream, default);
        }
        else
        {
            WriteTrailers(stream, trailerLines);
        }
    }

    /// <summary>Reserves room for a head after its frame header, and writes a pending table size update.</summary>
    protected override FieldBlockWriter BeginHead(int blockBytesMax, out Span<byte> room)
    {
        room = connection.GetSpan(FrameHeader.Size + FieldBlockWriter.TableSizeUpdateBytes + blockBytesMax);
        var writer = new FieldBlockWriter(room[FrameHeader.Size..]);
        if (_owesTableUpdate)
        {
            writer.TableSizeUpdate();
        }

        return writer;
    }

    protected override void EndBlock(scoped ref FieldBlockWriter writer, Span<byte> room, RequestStream stream, bool isLast)
    {
        var own = (Http2Stream)stream;
        FrameFlags flags = isLast ? FrameFlags.EndStream : FrameFlags.None;
        int bytes = writer.Finish();
        _owesTableUpdate = false;
        if (bytes <= FrameHeader.DefaultLengthMax)
        {
            FrameHeader.Write(room, bytes, FrameType.Headers, flags | FrameFlags.EndHeaders, own.Id);
            connection.Advance(FrameHeader.Size + bytes);
        }
        else
        {
            WriteInPieces(room.Slice(FrameHeader.Size, bytes).ToArray(), own.Id, flags);
        }

        own.EndsAt = connection.WrittenBytes;
    }

    protected override bool CanSendWhole(RequestStream stream, long bytes) => queue.CanSendAtOnce((Http2Stream)stream, bytes);

    protected override void SendWhole(RequestStream stream, ReadOnlySpan<byte> body) => queue.SendAtOnce((Http2Stream)stream, body);

    protected override void Enqueue(RequestStream stream) => queue.Enqueue((Http2Stream)stream);

    protected override void EndResponse(RequestStream stream) => streams.EndResponse((Http2Stream)stream);

    /// <summary>Splits a block that is larger than a frame, which only long fields of rules cause; it allocates.</summary>
    private void WriteInPieces(ReadOnlySpan<byte> block, int streamId, FrameFlags flags)
    {
        for (FrameType type = FrameType.Headers; !block.IsEmpty; type = FrameType.Continuation)
        {
            int bytes = Math.Min(block.Length, FrameHeader.DefaultLengthMax);
            flags |= bytes == block.Length ? FrameFlags.EndHeaders : FrameFlags.None;
            FrameHeader.Write(connection.GetSpan(FrameHeader.Size), bytes, type, flags, streamId);
            connection.Advance(FrameHeader.Size);
            connection.Write(block[..bytes]);
            block = block[bytes..];
            flags = FrameFlags.None;
        }
    }
}
