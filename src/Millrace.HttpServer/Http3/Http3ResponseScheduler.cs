using System.Diagnostics;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Sessions;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// Writes the bodies of one connection's responses into their QUIC streams as these have room, and reads their files ahead. Which stream
/// sends next is QUIC's to decide, by their priorities. Reactor thread only.
/// </summary>
internal sealed class Http3ResponseScheduler(IClientConnection connection, Http3Streams streams, Http3ResponseWriter responses)
    : IFileResponseOutput
{
    /// <summary>The limit on file bytes that are read or being read, and not yet in a stream. One chunk is always allowed.</summary>
    private const int ReadAheadBytesMax = 2 * OutgoingBody.ChunkBytes;

    /// <summary>The minimum size of a read, however small the window, which may stay in memory while the window is used up.</summary>
    private const int ReadBytesMin = 4 * 1024;

    private bool _waitsForReadAhead;

    private FileResponses Files => field ??= new FileResponses(connection, this);

    /// <summary>There is room in a stream again.</summary>
    public void Continue(Http3Stream stream)
    {
        if (stream.IsCut || !stream.TryWriteKept())
        {
            return;
        }

        if (stream.State == ResponseState.Room)
        {
            Send(stream);
        }
    }

    /// <summary>Continues with the responses whose reads have ended, and with those that may read now.</summary>
    public void TakeReads()
    {
        for (int i = streams.Count - 1; i >= 0 && streams.ReadsEnded > 0; i--)
        {
            Http3Stream stream = streams.All[i];
            if (stream.HasRead)
            {
                Files.Take(stream, streams.TakeRead(stream));
            }
        }

        while (_waitsForReadAhead && streams.ReadAheadBytes <= ReadAheadBytesMax - OutgoingBody.ChunkBytes)
        {
            if (MostUrgentReader() is { } next)
            {
                Send(next);
            }
            else
            {
                _waitsForReadAhead = false;
            }
        }
    }

    /// <summary>Writes as much of a response as there is room for now.</summary>
    public void Send(Http3Stream stream)
    {
        stream.State = ResponseState.Writing;
        while (stream.State == ResponseState.Writing)
        {
            if (!stream.TryWriteKept())
            {
                WaitForRoom(stream);
            }
            else if (stream.Body.Stream is { } source && !IsReady(stream, source))
            {
                return;
            }
            else if (stream.Body.NeedsRead)
            {
                BeginRead(stream);
            }
            else if (stream.FrameRemaining == 0)
            {
                // The whole of a body whose length is known is one frame.
                stream.FrameRemaining = stream.Body.Stream is null ? stream.Body.Remaining : stream.Body.Ready;
                Http3ResponseWriter.BeginData(stream, stream.FrameRemaining);
            }
            else
            {
                WriteBody(stream);
            }
        }
    }

    void IFileResponseOutput.Enqueue(RequestStream stream) => Send((Http3Stream)stream);

    void IFileResponseOutput.Dequeue(RequestStream stream) => ((Http3Stream)stream).State = ResponseState.Idle;

    void IFileResponseOutput.CountReadAhead(RequestStream stream, int bytes) => CountReadAhead((Http3Stream)stream, bytes);

    void IFileResponseOutput.WriteDeferredHead(RequestStream stream, bool isLast) => responses.WriteDeferredHead(stream, isLast);

    void IFileResponseOutput.RespondError(RequestStream stream, UnplannedError error) =>
        responses.RespondError(stream, error, includesBody: true);

    void IFileResponseOutput.RespondUnopened(RequestStream stream, BodyOpening opening) => responses.RespondUnopened(stream, opening);

    void IFileResponseOutput.EndResponse(RequestStream stream) => streams.EndResponse((Http3Stream)stream);

    void IFileResponseOutput.ResetForFile(RequestStream stream) => streams.Reset((Http3Stream)stream, Http3Error.InternalError);

    private void WriteBody(Http3Stream stream)
    {
        OutgoingBody body = stream.Body;
        int wanted = (int)Math.Min(body.Ready, stream.FrameRemaining);
        int count = stream.WriteBody(wanted);
        if (count > 0)
        {
            body.Take(count);
            stream.FrameRemaining -= count;
            streams.CountBody(stream, count);
            CountReadAhead(stream, Math.Max(0, stream.ReadAheadBytes - count));
            Http3Streams.ApplyPriority(stream);
        }

        if (body.Stream is null && body.Remaining == 0)
        {
            streams.EndResponse(stream);
        }
        else if (count < wanted)
        {
            WaitForRoom(stream);
        }
    }

    /// <summary>Whether a body that is made while it is sent has bytes now; otherwise its stream waits, or ends.</summary>
    private bool IsReady(Http3Stream stream, BodyStream source)
    {
        if (source.State == BodyStreamState.Failed)
        {
            streams.Reset(stream, Http3Error.InternalError);
        }
        else if (!source.Available.IsEmpty)
        {
            return true;
        }
        else if (source.State == BodyStreamState.Open)
        {
            stream.State = ResponseState.Producer;
        }
        else
        {
            responses.WriteEnd(stream, source.TrailerLines);
            streams.EndResponse(stream);
        }

        return false;
    }

    private void WaitForRoom(Http3Stream stream)
    {
        stream.State = ResponseState.Room;
        if (stream.ReadAheadBytes == 0 || stream.Window > 0)
        {
            return;
        }

        // Read-ahead of a stream whose window is used up must not prevent reads for others. What a small window has left over may stay.
        if (stream.Body.Ready > ReadBytesMin)
        {
            stream.Body.DropChunk();
        }

        CountReadAhead(stream, 0);
    }

    private void BeginRead(Http3Stream stream)
    {
        int most = (int)Math.Clamp(stream.Window, ReadBytesMin, OutgoingBody.ChunkBytes);
        int bytes = (int)Math.Min(most, stream.Body.RemainingInPiece);
        Debug.Assert(stream.ReadAheadBytes == 0, "a stream sends its read-ahead before it reads again, or it would wait for itself");
        if (streams.ReadAheadBytes > 0 && streams.ReadAheadBytes + bytes > ReadAheadBytesMax)
        {
            stream.State = ResponseState.ReadAhead;
            _waitsForReadAhead = true;
            return;
        }

        if (stream.Body.IsDeferred && !Files.TryOpen(stream))
        {
            return;
        }

        ValueTask<int> read = stream.Body.ReadAsync(connection, most);
        stream.State = ResponseState.Reading;
        CountReadAhead(stream, bytes);
        streams.BeginRead(stream, read);
    }

    private void CountReadAhead(Http3Stream stream, int bytes)
    {
        streams.CountReadAhead(stream, bytes);
        if (_waitsForReadAhead && streams.ReadAheadBytes <= ReadAheadBytesMax - OutgoingBody.ChunkBytes)
        {
            streams.RunSoon();
        }
    }

    private Http3Stream? MostUrgentReader()
    {
        Http3Stream? next = null;
        foreach (Http3Stream stream in streams.All)
        {
            bool isNext = stream.State == ResponseState.ReadAhead
                && (next is null || (stream.Priority.Urgency, stream.Id).CompareTo((next.Priority.Urgency, next.Id)) < 0);
            next = isNext ? stream : next;
        }

        return next;
    }
}
