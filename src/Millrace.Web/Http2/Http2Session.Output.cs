using System.Diagnostics;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;

namespace Millrace.Web.Http2;

/// <content>Bodies on their way out, frame by frame: turns, windows (RFC 9113, section 5.2), and files read ahead.</content>
internal sealed partial class Http2Session
{
    /// <summary>What every window is before anybody says otherwise.</summary>
    private const int DefaultWindowBytes = 65_535;

    /// <summary>One frame of data: what every client takes, and soon enough over for others to have their turn.</summary>
    private const int DataBytesMax = FrameHeader.DefaultLengthMax;

    /// <summary>Bytes of files that are read, or being read, and not yet in the output. One chunk is always allowed.</summary>
    private const int ReadAheadBytesMax = 2 * OutgoingBody.ChunkBytes;

    /// <summary>What a client that means well tells of at least, where more has come.</summary>
    private const int UpdateBytesMin = 4 * 1024;

    /// <summary>The first read of a file that no window lets through yet: its answer's head does not wait for one.</summary>
    private const int FirstReadBytesMin = 4 * 1024;

    /// <summary>A file that is saved is quiet by the second look; one that is written without end never is.</summary>
    private const int AttemptsMax = 4;

    private long _sendWindow = DefaultWindowBytes;
    private long _initialWindow = DefaultWindowBytes;
    private long _sentBytes;

    /// <summary>Where in the output the last frame of data ends.</summary>
    private long _dataEndsAt;
    private long _readAhead;
    private int _readsEnded;
    private bool _waitForReadAhead;

    /// <summary>Sends frame by frame until nothing can go on, or enough is unsent.</summary>
    private void Send()
    {
        while (!_ready.IsEmpty && _connection.UnsentBytes < _bench.Limits.UnsentBytesMax && !IsOver)
        {
            Http2Stream stream = _ready.First;
            bool isFirstRead = stream.Head.IsHeld;
            if (!isFirstRead && _sendWindow <= 0)
            {
                Park(stream, SendState.ConnectionWindow);
            }
            else if (!isFirstRead && stream.SendWindow <= 0)
            {
                Park(stream, SendState.StreamWindow);
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
    }

    private void SendFrame(Http2Stream stream)
    {
        OutgoingBody body = stream.Body;
        int count = (int)Math.Min(Math.Min(body.Ready, DataBytesMax), Math.Min(stream.SendWindow, _sendWindow));
        bool isLast = count == body.Left;
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
            EndAnswer(stream);
        }
        else
        {
            _ready.Rotate(stream);
        }
    }

    /// <summary>
    /// A client may tell that it has taken each frame, and each 4 KiB of it (Go's does, where its reader takes so much at a time), for the
    /// stream and for the connection. However small: who answers each so keeps getting small ones. That it is not too slow is for the
    /// watches to see.
    /// </summary>
    private void EarnUpdates(int dataBytes) => _idleFrames.Earn(2 * ((dataBytes + UpdateBytesMin - 1) / UpdateBytesMin));

    private void Enqueue(Http2Stream stream)
    {
        stream.State = SendState.Ready;
        _ready.Add(stream);
    }

    private void Park(Http2Stream stream, SendState state)
    {
        _ready.Remove(stream);
        stream.State = state;
        if (state is SendState.StreamWindow)
        {
            // What is not taken of one stream must not keep others from being read. It is little, as it was within the window, unless the
            // client has taken that back: a hundred streams would keep a chunk each.
            if (stream.ReadAheadBytes > FirstReadBytesMin)
            {
                stream.Body.DropChunk();
            }

            CountReadAhead(stream, 0);
        }
    }

    /// <summary>Those who wait for one thing go on.</summary>
    private void Unpark(SendState state)
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
            Unpark(SendState.ReadAhead);
        }
    }

    private void BeginRead(Http2Stream stream)
    {
        long window = Math.Min(stream.SendWindow, _sendWindow);
        int most = (int)Math.Clamp(window, FirstReadBytesMin, OutgoingBody.ChunkBytes);
        int bytes = (int)Math.Min(most, stream.Body.LeftOfPiece);
        Debug.Assert(stream.ReadAheadBytes == 0, "who reads has sent what it had read before, and would else wait for itself");
        if (_readAhead > 0 && _readAhead + bytes > ReadAheadBytesMax)
        {
            Park(stream, SendState.ReadAhead);
            _waitForReadAhead = true;
            return;
        }

        ValueTask<int> read = stream.Body.ReadAsync(_connection.Reactor, most);
        Park(stream, SendState.Reading);
        CountReadAhead(stream, bytes);
        _readsInFlight++;
        stream.Read.Begin(read);
    }

    /// <summary>A read has ended, of a stream that may be closed. What it has brought is seen to by the loop.</summary>
    internal void OnRead(Http2Stream stream)
    {
        _readsInFlight--;
        if (stream.IsGone)
        {
            stream.Body.EndRead(stream.TakeRead());
            _bench.Http2.Return(stream);
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
        // Backwards: one that is closed is replaced by the last.
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

            // A read may bring less than was asked for.
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

    /// <summary>Nothing of the answer has gone out yet, so all can still be said of it.</summary>
    private void TakeFirstChunk(Http2Stream stream, ChunkState chunk)
    {
        bool isWhole = stream.Head.Extent == BodyExtent.Whole;
        if (chunk == ChunkState.Unreadable)
        {
            stream.Body.Release();
            stream.Head.Release();
            AnswerPlain(stream, 500, includesBody: true);
            return;
        }

        // Of one that changes all the time no more is sure than that it is there; but nobody is told how much it is.
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
            WriteHeld(stream, FrameFlags.None);
            Enqueue(stream);
        }
        else if (isWhole && ++stream.Attempts < AttemptsMax)
        {
            BeginAgain(stream);
        }
        else
        {
            End(stream, Http2Error.InternalError);
        }
    }

    private void BeginAgain(Http2Stream stream)
    {
        CountReadAhead(stream, 0);
        stream.Body.BeginAgain();
        if (stream.Body.Left > 0)
        {
            Enqueue(stream);
            return;
        }

        WriteHeld(stream, FrameFlags.EndStream);
        stream.Body.Release();
        EndAnswer(stream);
    }

    /// <summary>The head has promised what is not there any more, or is another's: an end that looks like none.</summary>
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
            Unpark(SendState.ConnectionWindow);
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

    /// <summary>Of all streams that are open, too; some may have less than nothing then (section 6.9.2).</summary>
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
