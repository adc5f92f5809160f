using System.Diagnostics;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Sessions;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// Sends the queued responses of one connection frame by frame, the most urgent first, and reads their files ahead. Reactor thread only.
/// </summary>
internal sealed class ResponseScheduler(
    Connection connection, Http2Streams streams, SendQueue queue, Http2ResponseWriter responses) : IFileResponseOutput
{
    /// <summary>DATA frames, 16 KiB each, sent before the session checks whether other connections should continue.</summary>
    private const int DataFramesPerCheck = 2;

    /// <summary>Bytes that are encrypted and sent at once: with their ciphertext they fit the L2 cache.</summary>
    private const int SendBytes = 64 * 1024;

    private FileResponses Files => field ??= new FileResponses(connection, this);

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
                    responses.WriteDeferredHead(stream, isLast: false);
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

            Files.Take(stream, streams.TakeRead(stream));
        }
    }

    private void BeginRead(Http2Stream stream)
    {
        int most = (int)Math.Clamp(queue.WindowOf(stream), SendQueue.ReadBytesMin, OutgoingBody.ChunkBytes);
        int bytes = (int)Math.Min(most, stream.Body.RemainingInPiece);
        Debug.Assert(stream.ReadAheadBytes == 0, "a stream sends its read-ahead before it reads again, or it would wait for itself");
        if (queue.TrySuspendForReadAhead(stream, bytes) || (stream.Body.IsDeferred && !Files.TryOpen(stream)))
        {
            return;
        }

        ValueTask<int> read = stream.Body.ReadAsync(connection, most);
        queue.Suspend(stream, SendState.Reading);
        queue.CountReadAhead(stream, bytes);
        streams.BeginRead(stream, read);
    }

    void IFileResponseOutput.Enqueue(RequestStream stream) => queue.Enqueue((Http2Stream)stream);

    void IFileResponseOutput.Dequeue(RequestStream stream) => queue.Remove((Http2Stream)stream);

    void IFileResponseOutput.CountReadAhead(RequestStream stream, int bytes) => queue.CountReadAhead((Http2Stream)stream, bytes);

    void IFileResponseOutput.WriteDeferredHead(RequestStream stream, bool isLast) => responses.WriteDeferredHead(stream, isLast);

    void IFileResponseOutput.RespondError(RequestStream stream, UnplannedError error) =>
        responses.RespondError(stream, error, includesBody: true);

    void IFileResponseOutput.RespondUnopened(RequestStream stream, BodyOpening opening) => responses.RespondUnopened(stream, opening);

    void IFileResponseOutput.EndResponse(RequestStream stream) => streams.EndResponse((Http2Stream)stream);

    void IFileResponseOutput.ResetForFile(RequestStream stream) => streams.Reset((Http2Stream)stream, Http2Error.InternalError);
}
