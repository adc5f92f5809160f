using System.Diagnostics;
using System.Runtime.CompilerServices;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Connections;

/// <summary>
/// Sends file pages by reference, where copying them costs more than two system calls. io_uring has no operation for it, so the calls are
/// made directly: one per connection and iteration, with the bytes before the pages, so that other connections are not delayed. Created
/// when a connection object first sends pages, and kept with it. Reactor thread.
/// </summary>
/// <remarks>
/// Other processes may write to a site's own file while its pages are queued, so its end is sent as a copy, after a check that the file is
/// unchanged (docs/adr/0016-sendfile-for-large-files.md). Pages that are not in the page cache are not sent this way: the call would wait
/// for the disk.
/// </remarks>
internal sealed class FilePageSender(Connection connection)
{
    private const int BytesPerIteration = 1024 * 1024;

    private const int AcknowledgedCheckMs = 16;

    /// <summary>How long pages that were found in the page cache are not all checked again: recently used pages are evicted last.</summary>
    private const int CachedMs = 500;

    /// <summary>The kernel cannot send these pages: they are copied from now on.</summary>
    private bool _areRefused;
    private bool _awaitsWritable;

    /// <summary>The last call took less than offered: the next would return EAGAIN.</summary>
    private bool _isFull;

    /// <summary>Nothing was sent since the socket was last reported writable.</summary>
    private bool _writableIsUntried;

    private bool _isFileRefused;
    private long _refusedFileBytes;
    private long _cachedEnd;
    private long _cachedUntilMs;

    /// <summary>Of a call, until it is taken; and what takes it, created on first use.</summary>
    private int _result;
    private Action? _complete;

    /// <summary>Whether the socket takes pages. A unix socket copies in any case, and its sends are limited.</summary>
    public bool IsSupported => connection.Listener.TakesPages && !_areRefused;

    public bool IsSending { get; private set; }

    /// <summary>How many bytes after a file's pages must be copies; <see cref="long.MaxValue"/> where no pages are sent.</summary>
    public long CopiedBytesAfter => MaySendFiles ? connection.Backend.FilePages.CopiedBytesAfter : long.MaxValue;

    /// <summary>Whether output goes to the kernel unmodified and the kernel sends pages.</summary>
    private bool MaySendFiles => IsSupported && connection.Filters.IsEmpty;

    private bool MayBeAcknowledged =>
        !connection.Writer.IsLost && connection.Receiver.End != ReceiveEnd.Reset && !connection.Backend.IsOver(connection.Descriptor);

    public void Reset() => IsSending = _areRefused = _awaitsWritable = _isFull = _writableIsUntried = _isFileRefused = false;

    /// <summary>Whether enough of a file is in the page cache to send it by reference instead of reading it.</summary>
    public bool ShouldSendFile(int file, long offset, long bytes)
    {
        if (!MaySendFiles)
        {
            return false;
        }

        long least = connection.Backend.FilePages.BytesMin;
        return bytes >= least && connection.Backend.CachedBytes(file, offset, least) == least;
    }

    /// <summary>
    /// Flushes what was written, followed by pages of a file as long as they are in the page cache. Returns how many bytes of the file the
    /// kernel has taken (the reason for stopping is not reported; a read will show it), or -1 when the output is lost.
    /// </summary>
    /// <remarks>
    /// A write to the file changes what the peer receives until it has read it: see <see cref="AcknowledgedAsync"/>. The file is the
    /// caller's and may be closed after this completes.
    /// </remarks>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<long> SendFileAsync(int file, long offset, long bytes)
    {
        connection.Writer.Batch().WriteFile(file, offset, bytes);
        _refusedFileBytes = _cachedUntilMs = 0;
        return await connection.FlushAsync() == FlushOutcome.Closed ? -1 : bytes - _refusedFileBytes;
    }

    /// <summary>
    /// Waits until the peer has acknowledged the output up to <paramref name="writtenBytes"/>, and beyond it as much as a local peer may
    /// have left unread: nothing then reads a page that was sent before that position. False when the peer is too slow or gone.
    /// </summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<bool> AcknowledgedAsync(long writtenBytes)
    {
        Debug.Assert(
            connection.Writer.UnflushedBytes == 0, "Bytes that must wait for the acknowledgement could go out with an earlier flush.");
        SocketSender sender = connection.Sender;
        Reactor reactor = connection.Reactor;
        long enough = writtenBytes + connection.Backend.FilePages.PeerQueueBytes;
        TransferRateLimit? rate = null;
        while (sender.AcknowledgedBytes() < enough)
        {
            if (rate is null)
            {
                rate = new TransferRateLimit();
                rate.Begin(reactor.NowMs, reactor.WriteStallMs, connection.Limits.WriteBytesPerSecond, sender.BytesTakenByPeer());
            }

            try
            {
                await reactor.Delay(TimeSpan.FromMilliseconds(AcknowledgedCheckMs));
            }
            catch (OperationCanceledException)
            {
                return false;
            }

            if (!MayBeAcknowledged)
            {
                return false;
            }

            if (rate.IsTooSlow(reactor.NowMs, sender.BytesTakenByPeer()))
            {
                reactor.Counters.Stalled++;
                return false;
            }
        }

        return true;
    }

    public unsafe void Send(OperationToken token, OutputBatch batch)
    {
        nint result = 0;
        IsSending = true;
        if (_isFull)
        {
            _isFull = false;
            AwaitWritable(token);
            return;
        }

        MessageHeader* before = batch.AsMessageBeforePages(out long bytesBefore, out bool isAll);
        if (before is not null)
        {
            result = connection.Backend.SendNow(connection.Descriptor, before, hasMore: true);
        }

        if (isAll && result == bytesBefore)
        {
            nint sent = SendFirstPages(batch);
            result = sent > 0 || bytesBefore == 0 ? result + sent : result;
        }

        if (result == -Errno.EAGAIN && !_writableIsUntried)
        {
            AwaitWritable(token);
        }
        else
        {
            _writableIsUntried = false;
            _result = (int)result;
            connection.Reactor.Loop.PostponeResult(_complete ??= Complete);
        }
    }

    /// <summary>
    /// Interprets the completion of a page send: "writable" is progress of 0 bytes; where the kernel cannot send pages, copies are sent
    /// from then on; and a file that it refused is dropped from the batch.
    /// </summary>
    public int TakeResult(int result, OutputBatch batch, out long refusedBytes)
    {
        refusedBytes = 0;
        IsSending = false;
        if (_isFileRefused)
        {
            Debug.Assert(_refusedFileBytes == 0);
            _isFileRefused = false;
            refusedBytes = _refusedFileBytes = batch.DropFile();
            return result;
        }

        if (_awaitsWritable)
        {
            _awaitsWritable = false;
            _writableIsUntried = result >= 0;
            return Math.Min(result, 0);
        }

        if (-result is Errno.EINVAL or Errno.ENOSYS or Errno.EPERM
            && batch.FirstPagesAreMapped
            && connection.Phase != ConnectionPhase.Closing)
        {
            _areRefused = true;
            return 0;
        }

        return result;
    }

    /// <summary>Takes the result of a call as if it were a completion.</summary>
    private void Complete() =>
        connection.Sender.OnSent(new Completion { Token = connection.Token(OperationKind.Send), Result = _result });

    private nint SendFirstPages(OutputBatch batch)
    {
        (int file, long offset, nuint bytes) = batch.FirstPages();
        bool isMapped = batch.FirstPagesAreMapped;
        long most = (long)nuint.Min(bytes, BytesPerIteration);
        long requested = isMapped ? most : CachedBytes(file, offset, most);
        nint sent = requested == 0 ? 0 : connection.Backend.SendFile(connection.Descriptor, file, offset, (nuint)requested);
        Debug.Assert(!isMapped || sent != 0, "A file of pages ends before its mapping does.");
        _isFull = sent > 0 && sent < requested;

        // A file that cannot be sent by pages is not an error of the connection: the caller reads it instead, which reports the error.
        _isFileRefused = !isMapped && (sent == 0 || (sent < 0 && !IsOfSocket((int)-sent)));
        return _isFileRefused ? 0 : sent;
    }

    private void AwaitWritable(OperationToken token)
    {
        _awaitsWritable = true;
        connection.Backend.SubmitAwaitRoom(token, connection.Descriptor);
    }

    private long CachedBytes(int file, long offset, long bytes)
    {
        if (connection.Reactor.NowMs < _cachedUntilMs && _cachedEnd > offset)
        {
            // Not for the page: on XFS sendfile waits for a writer of the file, and this check does not.
            if (connection.Backend.CachedBytes(file, offset, 1) == 0)
            {
                return 0;
            }
        }
        else
        {
            _cachedEnd = offset;
            _cachedUntilMs = connection.Reactor.NowMs + CachedMs;
        }

        if (_cachedEnd < offset + bytes)
        {
            _cachedEnd += connection.Backend.CachedBytes(file, _cachedEnd, offset + bytes - _cachedEnd);
        }

        return Math.Min(bytes, _cachedEnd - offset);
    }

    /// <summary>Whether an error is the socket's or transient. Any other may be the file's, as file systems define.</summary>
    private static bool IsOfSocket(int errno) =>
        errno is Errno.EAGAIN or Errno.EINTR or Errno.ENOMEM or Errno.EPIPE or (>= Errno.ENETDOWN and <= Errno.EHOSTUNREACH);
}
