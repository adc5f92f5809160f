using System.Diagnostics;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Heads;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// Sends the queued responses of one connection frame by frame, the most urgent first, and reads their files ahead. Reactor thread only.
/// </summary>
internal sealed class ResponseScheduler(
    Connection connection, Http2Streams streams, SendQueue queue, Http2ResponseWriter responses)
{
    /// <summary>DATA frames, 16 KiB each, sent before the session checks whether other connections should continue.</summary>
    private const int DataFramesPerCheck = 2;

    /// <summary>Bytes that are encrypted and sent at once: with their ciphertext they fit the L2 cache.</summary>
    private const int SendBytes = 64 * 1024;

    /// <summary>
    /// Sends DATA frames until no stream can continue or enough is unsent; true if more can be sent in another iteration.
    /// </summary>
    public bool Send()
    {
        for (int sent = 0; !queue.IsEmpty && HasRoom(); sent++)
        {
            if (sent > 0 && sent % DataFramesPerCheck == 0 && connection.Reactor.Budget.IsSliceOver)
            {
                return true;
            }

            Http2Stream stream = queue.First;
            if (stream.Body.Stream is { } source && !IsReady(stream, source))
            {
                continue;
            }

            if (queue.WindowOf(stream) <= 0)
            {
                if (stream.Head.IsHeld)
                {
                    // A client may wait for the head before it opens a window. The head needs no open file and no read.
                    responses.WriteDeferredHead(stream, FrameFlags.None);
                }

                queue.SuspendForWindow(stream);
            }
            else if (stream.Body.NeedsRead)
            {
                BeginRead(stream);
            }
            else if (queue.SendFrame(stream))
            {
                streams.EndResponse(stream);
            }
        }

        return false;
    }

    /// <summary>
    /// Whether more may be written. Over TLS, what is written is sent before it leaves the cache, as far as the socket takes it.
    /// </summary>
    private bool HasRoom()
    {
        if (connection.Writer.UnflushedBytes >= SendBytes && !connection.Filters.IsEmpty)
        {
            connection.Flush();
            connection.Writer.SendFlushedNow();
        }

        return queue.HasRoom;
    }

    /// <summary>Whether a body that is made while it is sent has bytes now; otherwise its stream waits, or ends.</summary>
    private bool IsReady(Http2Stream stream, BodyStream source)
    {
        if (source.State == BodyStreamState.Failed)
        {
            streams.Reset(stream, Http2Error.InternalError);
        }
        else if (!source.Available.IsEmpty)
        {
            return true;
        }
        else if (source.State == BodyStreamState.Open)
        {
            queue.Suspend(stream, SendState.Producer);
        }
        else
        {
            queue.Remove(stream);
            if (!stream.HasEnded)
            {
                responses.WriteEnd(stream, source.TrailerLines);
            }

            streams.EndResponse(stream);
        }

        return false;
    }

    /// <summary>Continues with the responses whose reads have ended.</summary>
    public void TakeReads()
    {
        // Backwards: the last stream takes the index of one that is closed.
        for (int i = streams.Count - 1; i >= 0 && streams.ReadsEnded > 0; i--)
        {
            Http2Stream stream = streams.All[i];
            if (!stream.HasRead)
            {
                continue;
            }

            ChunkState chunk = streams.TakeRead(stream);

            // A read may return less than was asked for.
            queue.CountReadAhead(stream, stream.Body.Ready);
            if (stream.Head.IsHeld)
            {
                TakeFirstChunk(stream, chunk);
            }
            else
            {
                TakeNextChunk(stream, chunk);
            }
        }
    }

    private void BeginRead(Http2Stream stream)
    {
        int most = (int)Math.Clamp(queue.WindowOf(stream), SendQueue.ReadBytesMin, OutgoingBody.ChunkBytes);
        int bytes = (int)Math.Min(most, stream.Body.RemainingInPiece);
        Debug.Assert(stream.ReadAheadBytes == 0, "a stream sends its read-ahead before it reads again, or it would wait for itself");
        if (queue.TrySuspendForReadAhead(stream, bytes) || (stream.Body.IsDeferred && !TryOpen(stream)))
        {
            return;
        }

        ValueTask<int> read = stream.Body.ReadAsync(connection, most);
        queue.Suspend(stream, SendState.Reading);
        queue.CountReadAhead(stream, bytes);
        streams.BeginRead(stream, read);
    }

    /// <summary>
    /// Opens the file of a response whose next byte may be sent. Returns false if the response has ended, or must be read again.
    /// </summary>
    private bool TryOpen(Http2Stream stream)
    {
        BodyOpening opening = stream.Body.TryOpen(connection);
        if (opening == BodyOpening.Opened && stream.Body.Source.IsAsCatalogued)
        {
            return true;
        }

        if (!stream.Head.IsHeld)
        {
            // The head has promised the earlier file.
            streams.Reset(stream, Http2Error.InternalError);
            return false;
        }

        queue.Remove(stream);
        if (opening == BodyOpening.Unproven && (opening = stream.Body.TryOpenOriginal(connection)) == BodyOpening.Opened)
        {
            stream.Head.BecomeOriginal();
            stream.Head.Attempts++;
            Continue(stream);
        }
        else if (opening == BodyOpening.Opened)
        {
            stream.Head.BecomeWhole();
            stream.Head.Attempts++;
            Restart(stream);
        }
        else
        {
            responses.RespondUnopened(stream, opening);
        }

        return false;
    }

    /// <summary>Decides by the first chunk, while nothing of the response is sent and its head can still change.</summary>
    private void TakeFirstChunk(Http2Stream stream, ChunkState chunk)
    {
        if (chunk == ChunkState.Unreadable)
        {
            RespondUnreadable(stream);
            return;
        }

        // Of a larger file that changes continuously, only its existence is certain; its head then has no length.
        BodyExtent extent = stream.Head.Extent;
        bool isUncertain = chunk == ChunkState.Next && stream.Head.Attempts > 0;
        bool isAsLong = chunk is ChunkState.Next or ChunkState.Last || (chunk == ChunkState.Long && extent == BodyExtent.Range);
        BodyChange change = isUncertain ? BodyChange.None : stream.Body.Source.Change();
        switch (FirstRead.Decide(extent, isAsLong, change, stream.Head.Attempts))
        {
            case FirstReadOutcome.Send:
                responses.WriteDeferredHead(stream, FrameFlags.None);
                queue.Enqueue(stream);
                break;
            case FirstReadOutcome.ReadAgain:
                stream.Head.Attempts++;
                Restart(stream);
                break;
            case FirstReadOutcome.Refuse:
                RespondUnreadable(stream);
                break;
            default:
                streams.Reset(stream, Http2Error.InternalError);
                break;
        }
    }

    private void RespondUnreadable(Http2Stream stream)
    {
        queue.CountReadAhead(stream, 0);
        stream.Body.Release();
        stream.Head.Release();
        responses.RespondError(stream, new UnplannedError(500, stream.Head.PrefersHtml), includesBody: true);
    }

    private void Restart(Http2Stream stream)
    {
        queue.CountReadAhead(stream, 0);
        stream.Body.Restart();
        Continue(stream);
    }

    /// <summary>Goes on with another body than was planned. Its head waits for the first read, unless there is none.</summary>
    private void Continue(Http2Stream stream)
    {
        if (stream.Body.Remaining == 0)
        {
            responses.WriteDeferredHead(stream, FrameFlags.EndStream);
            stream.Body.Release();
            streams.EndResponse(stream);
            return;
        }

        if (!stream.Body.NeedsRead)
        {
            responses.WriteDeferredHead(stream, FrameFlags.None);
        }

        queue.Enqueue(stream);
    }

    /// <summary>
    /// Checks the next chunk. If the file no longer matches the head, the stream is reset so that the client does not take it for complete.
    /// </summary>
    private void TakeNextChunk(Http2Stream stream, ChunkState chunk)
    {
        bool isEnd = chunk is ChunkState.Last or ChunkState.Long;
        if (chunk is ChunkState.Short or ChunkState.Unreadable || (isEnd && stream.Body.Source.Change() == BodyChange.Rewritten))
        {
            streams.Reset(stream, Http2Error.InternalError);
        }
        else
        {
            queue.Enqueue(stream);
        }
    }
}
