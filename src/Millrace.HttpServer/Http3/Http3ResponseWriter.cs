using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http3;

/// <summary>Writes responses as frames of HTTP/3 into their QUIC streams. Reactor thread only.</summary>
internal sealed class Http3ResponseWriter(IClientConnection connection, SessionReactorState reactorState, Http3Streams streams)
    : StreamResponseWriter<QpackBlockWriter>(connection, reactorState)
{
    /// <summary>Sends the bodies that do not find room at once.</summary>
    public Http3ResponseScheduler Scheduler => field ??= new Http3ResponseScheduler(Connection, streams, this);

    protected override ReadOnlySpan<byte> DateLine => ReactorState.Date.QpackAt(ReactorState.NowMs);

    protected override bool SendsByReference => true;

    /// <summary>Ends a response whose length was not known before, with its trailers.</summary>
    public void WriteEnd(Http3Stream stream, ReadOnlySpan<byte> trailerLines)
    {
        if (!trailerLines.IsEmpty)
        {
            WriteTrailers(stream, trailerLines);
        }
    }

    /// <summary>Writes the header of a DATA frame.</summary>
    public static void BeginData(Http3Stream stream, long bytes)
    {
        Span<byte> header = stackalloc byte[Http3FrameWriter.HeaderBytesMax];
        stream.Write(header[..Http3FrameWriter.WriteHeader(header, Http3FrameType.Data, bytes)]);
    }

    /// <summary>A block is written after the longest frame header, as its length is known afterwards.</summary>
    protected override QpackBlockWriter BeginHead(int blockBytesMax, out Span<byte> room)
    {
        room = ReactorState.Http3.HeadRoom(Http3FrameWriter.HeaderBytesMax + QpackBlockWriter.PrefixBytes + blockBytesMax);
        var writer = new QpackBlockWriter(room[Http3FrameWriter.HeaderBytesMax..]);
        writer.Prefix();
        return writer;
    }

    protected override void EndBlock(scoped ref QpackBlockWriter writer, Span<byte> room, RequestStream stream, bool isLast)
    {
        int bytes = writer.Finish();
        Span<byte> header = stackalloc byte[Http3FrameWriter.HeaderBytesMax];
        int headerBytes = Http3FrameWriter.WriteHeader(header, Http3FrameType.Headers, bytes);
        int start = Http3FrameWriter.HeaderBytesMax - headerBytes;
        header[..headerBytes].CopyTo(room[start..]);
        ((Http3Stream)stream).Write(room.Slice(start, headerBytes + bytes));
    }

    protected override bool CanSendWhole(RequestStream stream, long bytes) =>
        ((Http3Stream)stream).HasRoom(Http3FrameWriter.HeaderBytesMax + bytes);

    protected override void SendWhole(RequestStream stream, ReadOnlySpan<byte> body)
    {
        var own = (Http3Stream)stream;
        BeginData(own, body.Length);
        own.Write(body);
        own.SentBytes += body.Length;
        own.Exchange?.AddBody(body.Length, own.WrittenEnd);
    }

    protected override void Enqueue(RequestStream stream) => Scheduler.Send((Http3Stream)stream);

    protected override void EndResponse(RequestStream stream) => streams.EndResponse((Http3Stream)stream);
}
