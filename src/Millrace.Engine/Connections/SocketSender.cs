using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Interop;

namespace Millrace.Engine.Connections;

/// <summary>
/// Observes the output progress of a connection, and its end. Reactor thread; must not throw, and must not change the connection.
/// </summary>
internal interface IOutputObserver
{
    /// <summary>A send has ended: the kernel has all of <see cref="Connection.TransferredBytes"/>.</summary>
    void OnTransferred(Connection connection);

    /// <summary>The socket is closed while the handler waits for something else than the connection: it has to return now.</summary>
    void OnClosed(Connection connection)
    {
    }

    /// <summary>The connection is gone; no more is transferred.</summary>
    void OnGone(Connection connection);
}

/// <summary>
/// A connection's output on its way to the kernel: one batch at a time, through the filters, until the last byte is taken; and how much of
/// it that is. Reactor thread; the batch in flight is the kernel's until the completion.
/// </summary>
/// <remarks>
/// A zero-copy send, from the batch's own memory, completes twice: with its result the kernel is done with the socket, and with a notice,
/// after the peer has acknowledged all or the socket is gone with its queue, it is done with the memory. Until then no flush completes, no
/// other send begins, and the slot is not reused.
/// </remarks>
internal sealed class SocketSender(Connection connection)
{
    private OutputBatch? _batch;
    private bool _isQueued;
    private long _sentBytes;

    private bool _isZeroCopy;
    private bool _copies;
    private int _resultBeforeNotice;

    /// <summary>The handler's bytes (before filters) that were moved to a send, one in flight included.</summary>
    private long _takenBytes;

    /// <summary>The handler's bytes of the batch, and what filters made of them.</summary>
    private long _plainBytes;
    private long _encodedBytes;

    private FilePageSender? _pages;

    public IOutputObserver? Observer { get; set; }

    public bool IsInFlight { get; private set; }

    /// <summary>Whether the send's notice is outstanding. For a peer that acknowledges nothing it comes only after the close.</summary>
    public bool IsNoticeAwaited { get; private set; }

    public bool IsIdle => _batch is null;

    public long UnsentBytes => _batch?.Bytes ?? 0;

    public long SentBytes => _sentBytes;

    public FilePageSender Pages => _pages ??= new FilePageSender(connection);

    public long WrittenBytes => _takenBytes + connection.Writer.Bytes;

    public long TransferredBytes => _takenBytes - PlainBytesOf(UnsentBytes);

    /// <summary>Whether bytes of another connection can be moved to the socket now: nothing that was written waits before them.</summary>
    public bool MayMove =>
        connection.Phase == ConnectionPhase.Serving
        && connection.Filters.IsEmpty
        && connection.Writer.IsEmpty
        && !connection.Writer.IsLost
        && IsIdle;

    /// <summary>Whether the connection only has to close after the batch that is about to be sent.</summary>
    private bool EndsWithThis =>
        connection.Ending.MayEndAtOnce
        && connection.Phase == ConnectionPhase.Flushing
        && connection.Writer.IsEmpty
        && connection.OperationsInFlight == 0
        && IsCopied;

    /// <summary>
    /// Whether filters have just made the bytes, in blocks that the next connection uses again: sent by a call they never leave the cache.
    /// </summary>
    private bool IsHot => !connection.Filters.IsEmpty && IsCopied;

    /// <summary>Whether the kernel copies the whole batch: nothing of it is sent by reference.</summary>
    private bool IsCopied => !_batch!.HasPages && _batch.Bytes < connection.Backend.ZeroCopyBytesMin;

    public void Reset()
    {
        Debug.Assert(_batch is null && !IsInFlight && !IsNoticeAwaited);
        _sentBytes = _takenBytes = 0;
        _copies = false;
        Observer = null;
        _pages?.Reset();
    }

    /// <summary>Queues a send for the end of the iteration, unless one is in progress.</summary>
    public void Queue()
    {
        if (_batch is null && !_isQueued)
        {
            _isQueued = true;
            connection.Reactor.Loop.QueueFlush(connection);
        }
    }

    /// <summary>At the end of an iteration: sends what was flushed in it as one send.</summary>
    /// <param name="byCall">Whether a call sends what the socket takes at once, while it is in the cache.</param>
    public void SendFlushed(bool byCall = false)
    {
        _isQueued = false;
        if (_batch is not null)
        {
            return;
        }

        OutputBatch? flushed = connection.Writer.TakeFlushed();
        if (flushed is null && !connection.Filters.IsSendRequested)
        {
            return;
        }

        connection.Filters.IsSendRequested = false;
        OutputBatch plain = flushed ?? connection.Reactor.Batches.Rent(connection);
        if (connection.Writer.IsBroken || connection.Phase >= ConnectionPhase.Closing)
        {
            connection.Reactor.Batches.Return(plain);
            Break();
            connection.Progress();
            return;
        }

        long plainBytes = plain.Bytes;
        _batch = connection.Filters.Encode(plain);
        if (_batch is null)
        {
            return;
        }

        _takenBytes += plainBytes;
        _plainBytes = plainBytes;
        _encodedBytes = _batch.Bytes;
        if (_batch.Bytes == 0)
        {
            Finish();
            connection.Progress();
            return;
        }

        connection.Ending.NoteSend(plainBytes);
        connection.Timers.BeginSend();
        bool endsWithThis = EndsWithThis;
        if (endsWithThis || (byCall && !_batch.HasPages) || IsHot)
        {
            SendNow(hasMore: endsWithThis);
        }
        else
        {
            Submit();
        }
    }

    public unsafe void Submit()
    {
        IsInFlight = true;
        connection.OperationsInFlight++;
        OperationToken token = connection.Token(OperationKind.Send);
        if (_batch!.HasPages && (Pages.IsSupported || !_batch.FirstPagesAreMapped))
        {
            _isZeroCopy = false;
            Pages.Send(token, _batch);
            return;
        }

        long most = connection.Listener.SendBytesMax;
        bool isOnePart = _batch.TryGetSinglePart(out byte* data, out nuint bytes) || _batch.Bytes > most;
        bytes = (nuint)Math.Min((long)bytes, most);
        _isZeroCopy = !_copies && (isOnePart ? (long)bytes : _batch.Bytes) >= connection.Backend.ZeroCopyBytesMin;
        connection.Backend.SubmitSend(token, connection.Descriptor, isOnePart
            ? new SendRequest(data, bytes) { IsZeroCopy = _isZeroCopy }
            : new SendRequest(_batch.AsMessage()) { IsZeroCopy = _isZeroCopy });
    }

    public void OnSent(in Completion completion)
    {
        if (!completion.IsTerminal)
        {
            // A result, errors included, that precedes its notice; it is processed when the notice arrives.
            IsNoticeAwaited = true;
            _resultBeforeNotice = completion.Result;
            connection.Progress();
            return;
        }

        int result = IsNoticeAwaited ? _resultBeforeNotice : completion.Result;
        result = _pages is { IsSending: true } ? TakePagesResult(_pages, result) : result;
        IsNoticeAwaited = IsInFlight = false;
        connection.OperationsInFlight--;
        if (!TakeResult(result))
        {
            Break();
        }
        else if (_batch!.Bytes == 0)
        {
            Finish();
        }
        else if (connection.Timers.IsSendDelayed)
        {
            return;
        }
        else if (connection.Phase == ConnectionPhase.Closing)
        {
            Break();
        }
        else
        {
            // A partial send: by a limit, a signal, or an error that the next attempt will report.
            connection.Timers.BeginSend();
            Submit();
        }

        connection.Progress();
    }

    /// <summary>The output is lost: drops what the kernel does not hold.</summary>
    public void Break()
    {
        connection.Writer.IsBroken = true;
        connection.Filters.IsSendRequested = false;
        Drop();
        connection.Writer.EndFlushIfDone();
    }

    public void Drop()
    {
        if (_batch is not null && !IsInFlight)
        {
            _takenBytes = TransferredBytes;
            connection.Reactor.Batches.Return(_batch);
            _batch = null;
        }

        connection.Writer.Drop();
    }

    /// <summary>
    /// Bytes of <see cref="WrittenBytes"/> that the peer has acknowledged; data can stay in the kernel's queue for long. Two system calls.
    /// A lower bound with filters, as they increase the number of bytes on the way.
    /// </summary>
    public long AcknowledgedBytes()
    {
        // For a send in flight only the first term knows what was acknowledged; kernels without that counter (gVisor) know the second.
        long acknowledged = Math.Max(
            BytesTakenByPeer(),
            _sentBytes - Math.Max(0, connection.Backend.UnacknowledgedBytes(connection.Descriptor)));
        return _takenBytes - (UnsentBytes + _sentBytes - acknowledged);
    }

    /// <summary>
    /// A count that grows while the peer takes bytes. A unix socket reports only its queue length, so the bytes of completed sends are
    /// added.
    /// </summary>
    public long BytesTakenByPeer() =>
        connection.Backend.SendProgress(connection.Descriptor) + (connection.Listener.HasClientAddresses ? 0 : _sentBytes);

    /// <summary>Takes the result of a send whose memory was returned; false when the output is lost.</summary>
    private bool TakeResult(int result)
    {
        if (connection.Phase == ConnectionPhase.Closed)
        {
            // A zero-copy notice after the close.
            return false;
        }

        switch (-result)
        {
            case < 0:
                TakeSent(result);
                return true;
            case Errno.EOPNOTSUPP or Errno.EINVAL or Errno.ENOMEM when _isZeroCopy && connection.Phase != ConnectionPhase.Closing:
                // The socket only copies (a unix socket), or no more memory can be locked: from now on sends are copied.
                _copies = true;
                return true;
            case Errno.ENOBUFS or Errno.ENOMEM or Errno.EAGAIN when connection.Phase != ConnectionPhase.Closing:
                // The kernel is short of memory: an immediate retry would fail again.
                connection.Timers.DelaySend();
                return true;
            case 0 or Errno.EINTR:
                return true;
            default:
                // ECANCELED here is our own close; EPIPE and ECONNRESET are the peer's.
                connection.Ending.NoteFault(connection.DirectSender.WithError(-result));
                return false;
        }
    }

    private int TakePagesResult(FilePageSender pages, int result)
    {
        result = pages.TakeResult(result, _batch!, out long refusedBytes);
        _takenBytes -= refusedBytes;
        return result;
    }

    /// <summary>
    /// Sends as much as the socket takes at once; with <paramref name="hasMore"/> in one segment with the FIN that follows. The remainder,
    /// also after an error, takes the usual path.
    /// </summary>
    private unsafe void SendNow(bool hasMore)
    {
        nint sent = connection.Backend.SendNow(connection.Descriptor, _batch!.AsMessage(), hasMore);
        if (sent > 0)
        {
            TakeSent(sent);
        }

        if (_batch.Bytes > 0)
        {
            Submit();
        }
        else
        {
            Finish();
            connection.Progress();
        }
    }

    /// <summary>Bytes that did not pass through the writer were sent. <see cref="NotifyMoved"/> follows.</summary>
    public void CountMoved(long bytes)
    {
        _sentBytes += bytes;
        _takenBytes += bytes;
        connection.Reactor.Counters.BytesSent += bytes;
        connection.Ending.NoteSend(bytes);
    }

    public void NotifyMoved() => Observer?.OnTransferred(connection);

    private void TakeSent(long bytes)
    {
        _sentBytes += bytes;
        connection.Reactor.Counters.BytesSent += bytes;
        _batch!.Consume(bytes);
    }

    private void Finish()
    {
        connection.Reactor.Batches.Return(_batch!);
        _batch = null;
        connection.Timers.EndSend();
        Observer?.OnTransferred(connection);
        if (connection.Writer.IsFlushRequested || connection.Filters.IsSendRequested)
        {
            Queue();
        }

        connection.Writer.EndFlushIfDone();
    }

    /// <summary>The handler's share of the remaining bytes of the batch, rounded up.</summary>
    private long PlainBytesOf(long leftBytes) =>
        leftBytes == 0 ? 0
        : connection.Filters.IsEmpty ? leftBytes
        : (long)Math.Ceiling((double)_plainBytes * leftBytes / _encodedBytes);
}
