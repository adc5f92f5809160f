using Millrace.Engine.Connections;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Heads;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Sessions;

/// <summary>What responses whose bodies are read from files need of their protocol. Reactor thread only.</summary>
internal interface IFileResponseOutput
{
    /// <summary>Lets a stream continue to send.</summary>
    void Enqueue(RequestStream stream);

    /// <summary>Ends that a stream is queued.</summary>
    void Dequeue(RequestStream stream);

    /// <summary>Sets how much of a stream's file was read, or is being read, and is not sent.</summary>
    void CountReadAhead(RequestStream stream, int bytes);

    void WriteDeferredHead(RequestStream stream, bool isLast);

    void RespondError(RequestStream stream, UnplannedError error);

    /// <summary>Answers a request whose file cannot be opened.</summary>
    void RespondUnopened(RequestStream stream, BodyOpening opening);

    void EndResponse(RequestStream stream);

    /// <summary>Ends a stream whose response cannot be what its head has promised.</summary>
    void ResetForFile(RequestStream stream);
}

/// <summary>
/// Opens the files of responses on streams, and decides by what was read how they go on: a file may have changed since it was planned.
/// Reactor thread only.
/// </summary>
internal sealed class FileResponses(IClientConnection connection, IFileResponseOutput output)
{
    /// <summary>
    /// Opens the file of a queued response whose next byte may be sent. Returns false if the response has ended, or must be read again.
    /// </summary>
    public bool TryOpen(RequestStream stream)
    {
        BodyOpening opening = stream.Body.TryOpen(connection);
        if (opening == BodyOpening.Opened && stream.Body.Source.IsAsCatalogued)
        {
            return true;
        }

        if (!stream.Head.IsHeld)
        {
            // The head has promised the earlier file.
            output.ResetForFile(stream);
            return false;
        }

        output.Dequeue(stream);
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
            output.RespondUnopened(stream, opening);
        }

        return false;
    }

    /// <summary>Continues with a response whose read has ended.</summary>
    public void Take(RequestStream stream, ChunkState chunk)
    {
        // A read may return less than was asked for.
        output.CountReadAhead(stream, stream.Body.Ready);
        if (stream.Head.IsHeld)
        {
            TakeFirst(stream, chunk);
        }
        else
        {
            TakeNext(stream, chunk);
        }
    }

    /// <summary>Decides by the first chunk, while nothing of the response is sent and its head can still change.</summary>
    private void TakeFirst(RequestStream stream, ChunkState chunk)
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
                output.WriteDeferredHead(stream, isLast: false);
                output.Enqueue(stream);
                break;
            case FirstReadOutcome.ReadAgain:
                stream.Head.Attempts++;
                Restart(stream);
                break;
            case FirstReadOutcome.Refuse:
                RespondUnreadable(stream);
                break;
            default:
                output.ResetForFile(stream);
                break;
        }
    }

    private void RespondUnreadable(RequestStream stream)
    {
        output.CountReadAhead(stream, 0);
        stream.Body.Release();
        stream.Head.Release();
        output.RespondError(stream, new UnplannedError(500, stream.Head.PrefersHtml));
    }

    private void Restart(RequestStream stream)
    {
        output.CountReadAhead(stream, 0);
        stream.Body.Restart();
        Continue(stream);
    }

    /// <summary>Goes on with another body than was planned. Its head waits for the first read, unless there is none.</summary>
    private void Continue(RequestStream stream)
    {
        if (stream.Body.Remaining == 0)
        {
            output.WriteDeferredHead(stream, isLast: true);
            stream.Body.Release();
            output.EndResponse(stream);
            return;
        }

        if (!stream.Body.NeedsRead)
        {
            output.WriteDeferredHead(stream, isLast: false);
        }

        output.Enqueue(stream);
    }

    /// <summary>
    /// Checks the next chunk. If the file no longer matches the head, the stream is reset so that the client does not take it for complete.
    /// </summary>
    private void TakeNext(RequestStream stream, ChunkState chunk)
    {
        bool isEnd = chunk is ChunkState.Last or ChunkState.Long;
        if (chunk is ChunkState.Short or ChunkState.Unreadable || (isEnd && stream.Body.Source.Change() == BodyChange.Rewritten))
        {
            output.ResetForFile(stream);
        }
        else
        {
            output.Enqueue(stream);
        }
    }
}
