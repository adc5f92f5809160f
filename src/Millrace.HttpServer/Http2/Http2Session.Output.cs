using System.Diagnostics;
using Millrace.Http;
using Millrace.HttpServer.Heads;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http2;

/// <content>Sends bodies frame by frame: order, windows (RFC 9113, section 5.2), and read-ahead of files.</content>
internal sealed partial class Http2Session
{
    /// <summary>The initial value of every window.</summary>
    private const int DefaultWindowBytes = 65_535;

    /// <summary>The size of a DATA frame: every client accepts it, and other streams wait only briefly for it.</summary>
    private const int DataBytesMax = FrameHeader.DefaultLengthMax;

    /// <summary>The limit on file bytes that are read or being read, and not yet in the output. One chunk is always allowed.</summary>
    private const int ReadAheadBytesMax = 2 * OutgoingBody.ChunkBytes;

    /// <summary>A well-behaved client sends a WINDOW_UPDATE for no less than this, if more has arrived.</summary>
    private const int UpdateBytesMin = 4 * 1024;

    /// <summary>The minimum size of a read, however small the window, which may stay in memory if the window shrinks.</summary>
    private const int ReadBytesMin = 4 * 1024;

    /// <summary>A file that was saved is stable on the second attempt; a file that is written continuously never is.</summary>
    private const int AttemptsMax = 4;

    private long _sendWindow = DefaultWindowBytes;
    private long _initialWindow = DefaultWindowBytes;
    private long _sentBytes;

    /// <summary>Where in the output the last DATA frame ends.</summary>
    private long _dataEndsAt;
    private long _readAhead;
    private int _readsEnded;
    private bool _waitForReadAhead;

    /// <summary>
    /// Sends DATA frames until no stream can continue or enough is unsent; true if more can be sent in another iteration.
    /// </summary>
    private bool Send()
    {
        for (int sent = 0; !_ready.IsEmpty && _connection.UnsentBytes < _reactorState.Limits.UnsentBytesMax && !IsOver; sent++)
        {
            if (sent > 0 && sent % DataFramesPerCheck == 0 && _connection.Reactor.Budget.IsSliceOver)
            {
                return true;
            }

            Http2Stream stream = _ready.First;
            if (_sendWindow <= 0 || stream.SendWindow <= 0)
            {
                if (stream.Head.IsHeld)
                {
                    // A client may wait for the head before it opens a window. The head needs no open file and no read.
                    WriteDeferredHead(stream, FrameFlags.None);
                }

                Suspend(stream, _sendWindow <= 0 ? SendState.ConnectionWindow : SendState.StreamWindow);
                if (_sendWindow <= 0 && _waitForReadAhead)
                {
                    // Chunks of other streams stay in memory until the window opens: streams that wait for read-ahead need not delay their
                    // heads until then.
                    _waitForReadAhead = false;
                    ResumeAll(SendState.ReadAhead);
                }
            }
            else if (stream.Body.NeedsRead)
            {
                BeginRead(stream);
            }
            else
            {
                SendFrame(stream);
            }
        }

        return false;
    }

    private void SendFrame(Http2Stream stream)
    {
        OutgoingBody body = stream.Body;
        int count = (int)Math.Min(Math.Min(body.Ready, DataBytesMax), Math.Min(stream.SendWindow, _sendWindow));
        bool isLast = count == body.Remaining;
        FrameFlags flags = isLast ? FrameFlags.EndStream : FrameFlags.None;
        FrameWriter.DataHeader(_connection.GetSpan(FrameHeader.Size), count, flags, stream.Id);
        _connection.Advance(FrameHeader.Size);
        body.Write(_connection, count);
        stream.SendWindow -= count;
        stream.SentBytes += count;
        _sendWindow -= count;
        _sentBytes += count;
        stream.EndsAt = _dataEndsAt = _connection.WrittenBytes;
        stream.Exchange?.AddBody(count, _dataEndsAt);

        EarnUpdates(count);
        CountReadAhead(stream, Math.Max(0, stream.ReadAheadBytes - count));
        if (isLast)
        {
            _ready.Remove(stream);
            EndResponse(stream);
        }
        else
        {
            _ready.Rotate(stream);
        }
    }

    /// <summary>
    /// A client may send a WINDOW_UPDATE for each frame, and for each 4 KiB of it (Go's does, if its reader takes so much at a time), for
    /// the stream and for the connection. This holds for small frames too: a client that answers each of them so keeps receiving small
    /// ones. The rate limits detect a client that is too slow.
    /// </summary>
    private void EarnUpdates(int dataBytes) => _overheadFrames.Earn(2 * ((dataBytes + UpdateBytesMin - 1) / UpdateBytesMin));

    private void Enqueue(Http2Stream stream)
    {
        stream.State = SendState.Ready;
        _ready.Add(stream);
    }

    private void Suspend(Http2Stream stream, SendState state)
    {
        _ready.Remove(stream);
        stream.State = state;
        if (state is SendState.StreamWindow)
        {
            // Read-ahead of a stream without a window must not prevent reads for others. It is small, as it was within the window, unless
            // the client has reduced the window: then a hundred streams would keep a chunk each.
            if (stream.ReadAheadBytes > ReadBytesMin)
            {
                stream.Body.DropChunk();
            }

            CountReadAhead(stream, 0);
        }
    }

    /// <summary>Queues the streams that wait for one thing.</summary>
    private void ResumeAll(SendState state)
    {
        foreach (Http2Stream stream in _streams.All)
        {
            if (stream.State == state)
            {
                Enqueue(stream);
            }
        }
    }

    private void CountReadAhead(Http2Stream stream, int bytes)
    {
        _readAhead += bytes - stream.ReadAheadBytes;
        stream.ReadAheadBytes = bytes;
        if (_waitForReadAhead && _readAhead <= ReadAheadBytesMax - OutgoingBody.ChunkBytes)
        {
            _waitForReadAhead = false;
            ResumeAll(SendState.ReadAhead);
        }
    }

    private void BeginRead(Http2Stream stream)
    {
        long window = Math.Min(stream.SendWindow, _sendWindow);
        int most = (int)Math.Clamp(window, ReadBytesMin, OutgoingBody.ChunkBytes);
        int bytes = (int)Math.Min(most, stream.Body.RemainingInPiece);
        Debug.Assert(stream.ReadAheadBytes == 0, "a stream sends its read-ahead before it reads again, or it would wait for itself");
        if (_readAhead > 0 && _readAhead + bytes > ReadAheadBytesMax)
        {
            Suspend(stream, SendState.ReadAhead);
            _waitForReadAhead = true;
            return;
        }

        if (stream.Body.IsDeferred && !TryOpen(stream))
        {
            return;
        }

        ValueTask<int> read = stream.Body.ReadAsync(_connection, most);
        Suspend(stream, SendState.Reading);
        CountReadAhead(stream, bytes);
        _readsInFlight++;
        stream.Read.Begin(read);
    }

    /// <summary>
    /// Opens the file of a response whose next byte may be sent. Returns false if the response has ended, or must be read again.
    /// </summary>
    private bool TryOpen(Http2Stream stream)
    {
        BodyOpening opening = stream.Body.TryOpen(_connection);
        if (opening == BodyOpening.Opened && stream.Body.Source.IsAsCatalogued)
        {
            return true;
        }

        if (!stream.Head.IsHeld)
        {
            // The head has promised the earlier file.
            End(stream, Http2Error.InternalError);
            return false;
        }

        _ready.Remove(stream);
        if (opening == BodyOpening.Opened)
        {
            stream.Head.BecomeWhole();
            stream.Attempts++;
            Restart(stream);
        }
        else
        {
            RespondUnopened(stream, opening);
        }

        return false;
    }

    /// <summary>An error keeps its status and the rules' fields if only its page cannot be opened.</summary>
    private void RespondUnopened(Http2Stream stream, BodyOpening opening)
    {
        int status = stream.Head.Status;
        ResponsePlan bare = new ResponsePlan(status, PlanBody.StatusText, stream.Head.Fields);
        stream.Body.Release();
        stream.Head.Release();
        if (status >= 400)
        {
            _reactorState.Scratch.Reset();
            RespondBytes(stream, bare, ErrorHead.BodyOf(status), retained: null, includesBody: true);
        }
        else
        {
            RespondError(stream, PlanStatus.ForFailedOpen(opening), includesBody: true);
        }
    }

    /// <summary>Called when a read ends, perhaps of a closed stream. The loop processes the result.</summary>
    internal void OnRead(Http2Stream stream)
    {
        _readsInFlight--;
        if (stream.IsGone)
        {
            stream.Body.EndRead(stream.TakeRead());
            _reactorState.Http2.Return(stream);
        }
        else
        {
            stream.HasRead = true;
            _readsEnded++;
        }

        Notify();
    }

    private void TakeReads()
    {
        // Backwards: the last stream takes the index of one that is closed.
        for (int i = _streams.Count - 1; i >= 0 && _readsEnded > 0; i--)
        {
            Http2Stream stream = _streams.All[i];
            if (!stream.HasRead)
            {
                continue;
            }

            stream.HasRead = false;
            _readsEnded--;
            ChunkState chunk = stream.Body.EndRead(stream.TakeRead());

            // A read may return less than was asked for.
            CountReadAhead(stream, stream.Body.Ready);
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

    /// <summary>Decides by the first chunk, while nothing of the response is sent and its head can still change.</summary>
    private void TakeFirstChunk(Http2Stream stream, ChunkState chunk)
    {
        bool isWhole = stream.Head.Extent == BodyExtent.Whole;
        if (chunk == ChunkState.Unreadable)
        {
            RespondUnreadable(stream);
            return;
        }

        // Of a file that changes continuously, only its existence is certain; its head then has no length.
        BodyChange change = stream.Body.Source.Change();
        bool isFine = chunk switch
        {
            ChunkState.Short => false,
            _ when !isWhole => change != BodyChange.Rewritten,
            ChunkState.Next when stream.Attempts > 0 => true,
            ChunkState.Next or ChunkState.Last => change == BodyChange.None,
            _ => false,
        };
        if (isFine)
        {
            WriteDeferredHead(stream, FrameFlags.None);
            Enqueue(stream);
        }
        else if (isWhole && ++stream.Attempts < AttemptsMax)
        {
            Restart(stream);
        }
        else if (isWhole)
        {
            RespondUnreadable(stream);
        }
        else
        {
            End(stream, Http2Error.InternalError);
        }
    }

    private void RespondUnreadable(Http2Stream stream)
    {
        CountReadAhead(stream, 0);
        stream.Body.Release();
        stream.Head.Release();
        RespondError(stream, 500, includesBody: true);
    }

    private void Restart(Http2Stream stream)
    {
        CountReadAhead(stream, 0);
        stream.Body.Restart();
        if (stream.Body.Remaining > 0)
        {
            Enqueue(stream);
            return;
        }

        WriteDeferredHead(stream, FrameFlags.EndStream);
        stream.Body.Release();
        EndResponse(stream);
    }

    /// <summary>
    /// Checks the next chunk. If the file no longer matches the head, the stream is reset so that the client does not take it for complete.
    /// </summary>
    private void TakeNextChunk(Http2Stream stream, ChunkState chunk)
    {
        bool isEnd = chunk is ChunkState.Last or ChunkState.Long;
        if (chunk is ChunkState.Short or ChunkState.Unreadable || (isEnd && stream.Body.Source.Change() == BodyChange.Rewritten))
        {
            End(stream, Http2Error.InternalError);
        }
        else
        {
            Enqueue(stream);
        }
    }

    private Http2Fault GrowConnectionWindow(int increment)
    {
        _sendWindow += increment;
        if (_sendWindow > int.MaxValue)
        {
            return Http2Fault.OfConnection(Http2Error.FlowControlError);
        }

        if (_sendWindow > 0)
        {
            ResumeAll(SendState.ConnectionWindow);
        }

        return default;
    }

    private Http2Fault GrowStreamWindow(Http2Stream stream, long increment)
    {
        stream.SendWindow += increment;
        if (stream.SendWindow > int.MaxValue)
        {
            return Http2Fault.OfStream(Http2Error.FlowControlError);
        }

        if (stream.SendWindow > 0 && stream.State == SendState.StreamWindow)
        {
            Enqueue(stream);
        }

        return default;
    }

    /// <summary>Applies to open streams, too, whose windows may become negative (section 6.9.2).</summary>
    private Http2Fault SetInitialWindow(int bytes)
    {
        long change = bytes - _initialWindow;
        _initialWindow = bytes;
        foreach (Http2Stream stream in _streams.All)
        {
            if (!GrowStreamWindow(stream, change).IsNone)
            {
                return Http2Fault.OfConnection(Http2Error.FlowControlError);
            }
        }

        return default;
    }

    private void Prioritize(Http2Stream stream, StreamPriority priority)
    {
        bool isQueued = stream.IsQueued;
        if (isQueued)
        {
            _ready.Remove(stream);
        }

        stream.Priority = priority;
        if (isQueued)
        {
            _ready.Add(stream);
        }
    }
}
