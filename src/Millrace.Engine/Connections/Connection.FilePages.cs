using System.Diagnostics;
using System.Runtime.CompilerServices;
using Millrace.Engine.Connections;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>
/// Sends a site's own files by reference. Other processes may write to such a file while its pages are queued, so its end is sent as a
/// copy, after a check that the file is unchanged (docs/adr/0016). Pages that are not in the page cache are not sent
/// this way: the call would wait for the disk.
/// </content>
public sealed partial class Connection
{
    /// <summary>The interval of the checks for acknowledgement.</summary>
    private const int AcknowledgedCheckMs = 16;

    /// <summary>How long pages that were found in the page cache are not all checked again: recently used pages are evicted last.</summary>
    private const int CachedMs = 500;

    private bool _filePagesAreRefused;
    private long _refusedFileBytes;
    private long _cachedEnd;
    private long _cachedUntilMs;

    /// <summary>How many bytes after a file's pages must be copies; <see cref="long.MaxValue"/> where no pages are sent.</summary>
    internal long CopiedBytesAfterFilePages => MaySendFilePages ? Backend.FilePages.CopiedBytesAfter : long.MaxValue;

    /// <summary>Whether enough of a file is in the page cache to send it by reference instead of reading it.</summary>
    internal bool TakesFilePages(int file, long offset, long bytes) =>
        MaySendFilePages
        && bytes >= Backend.FilePages.BytesLeast
        && Backend.CachedBytes(file, offset, Backend.FilePages.BytesLeast) == Backend.FilePages.BytesLeast;

    /// <summary>
    /// Flushes what was written, followed by pages of a file as long as they are in the page cache. Returns how many bytes of the file the
    /// kernel has taken (the reason for stopping is not reported; a read will show it), or -1 when the output is lost.
    /// </summary>
    /// <remarks>
    /// A write to the file changes what the peer receives until it has read it: see <see cref="AcknowledgedAsync"/>. The file is the
    /// caller's and may be closed after this completes.
    /// </remarks>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    internal async ValueTask<long> SendFilePagesAsync(int file, long offset, long bytes)
    {
        Filling().WriteFile(file, offset, bytes);
        _refusedFileBytes = _cachedUntilMs = 0;
        return await FlushAsync() == FlushOutcome.Closed ? -1 : bytes - _refusedFileBytes;
    }

    /// <summary>
    /// Waits until the peer has acknowledged the output up to <paramref name="writtenBytes"/>, and beyond it as much as a local peer may
    /// have left unread: nothing then reads a page that was sent before that position. False when the peer is too slow or gone.
    /// </summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    internal async ValueTask<bool> AcknowledgedAsync(long writtenBytes)
    {
        Debug.Assert(UnflushedBytes == 0, "Bytes that must wait for the acknowledgement could go out with an earlier flush.");
        long enough = writtenBytes + Backend.FilePages.PeerQueueBytes;
        if (AcknowledgedBytes() >= enough)
        {
            return true;
        }

        var watch = new TransferRateLimit();
        watch.Begin(Reactor.NowMs, Reactor.WriteStallMs, Limits.WriteBytesPerSecond, BytesTaken());
        while (true)
        {
            try
            {
                await Reactor.Delay(TimeSpan.FromMilliseconds(AcknowledgedCheckMs));
            }
            catch (OperationCanceledException)
            {
                return false;
            }

            if (!MayBeAcknowledged)
            {
                return false;
            }

            if (watch.IsTooSlow(Reactor.NowMs, BytesTaken()))
            {
                Reactor.Counters.Stalled++;
                return false;
            }

            if (AcknowledgedBytes() >= enough)
            {
                return true;
            }
        }
    }

    /// <summary>Whether output goes to the kernel unmodified and the kernel sends pages.</summary>
    private bool MaySendFilePages => _takesPages && _outermostFilter is null;

    private bool MayBeAcknowledged => !IsOutputLost && _receiveEnd != ReceiveEnd.Reset && !Backend.IsOver(_socket);

    /// <summary>
    /// A file that cannot be sent by pages is not an error of the connection: the caller reads it instead, and the read reports the error.
    /// </summary>
    private nint RefuseFileError(nint sent)
    {
        _filePagesAreRefused = sent == 0 || (sent < 0 && !IsOfSocket((int)-sent));
        return _filePagesAreRefused ? 0 : sent;
    }

    /// <summary>How many of these bytes, from the offset on, are in the page cache.</summary>
    private long CachedBytes(int file, long offset, long bytes)
    {
        if (Reactor.NowMs < _cachedUntilMs && _cachedEnd > offset)
        {
            // Not for the page: on XFS sendfile waits for a writer of the file, and this check does not.
            if (Backend.CachedBytes(file, offset, 1) == 0)
            {
                return 0;
            }
        }
        else
        {
            _cachedEnd = offset;
            _cachedUntilMs = Reactor.NowMs + CachedMs;
        }

        if (_cachedEnd < offset + bytes)
        {
            _cachedEnd += Backend.CachedBytes(file, _cachedEnd, offset + bytes - _cachedEnd);
        }

        return Math.Min(bytes, _cachedEnd - offset);
    }

    /// <summary>Whether an error is the socket's or transient. Any other may be the file's, as file systems define.</summary>
    private static bool IsOfSocket(int errno) =>
        errno is Errno.EAGAIN or Errno.EINTR or Errno.ENOMEM or Errno.EPIPE or (>= Errno.ENETDOWN and <= Errno.EHOSTUNREACH);

    private void DropRefusedFile()
    {
        Debug.Assert(_refusedFileBytes == 0);
        _filePagesAreRefused = false;
        _refusedFileBytes = _sending!.DropFile();
        _takenBytes -= _refusedFileBytes;
    }
}
