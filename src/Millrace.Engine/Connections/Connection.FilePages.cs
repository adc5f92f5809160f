using System.Diagnostics;
using System.Runtime.CompilerServices;
using Millrace.Engine.Connections;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>
/// Sends a site's own file by reference, which others may write to while its pages are queued: so not its end, behind which somebody has to
/// look whether it is still the same (docs/adr/0016-files-by-reference.md). Not a page that a disk would have to bring.
/// </content>
public sealed partial class Connection
{
    /// <summary>When who is waited for is looked at again.</summary>
    private const int AcknowledgedLookMs = 16;

    /// <summary>For so long nobody looks again at all pages that were at hand: what was touched lately is forgotten last.</summary>
    private const int CachedMs = 500;

    private bool _filePagesAreRefused;
    private long _refusedFileBytes;
    private long _cachedEnd;
    private long _cachedUntilMs;

    /// <summary>How many bytes behind a file's pages are to be copies; the largest number where there are no pages at all.</summary>
    internal long CopiedBytesBehindFilePages => ShowsNobodyItsBytes ? Backend.FilePages.CopiedBytesBehind : long.MaxValue;

    /// <summary>Whether so much of a file is at hand that it is sent by reference, rather than read.</summary>
    internal bool TakesFilePages(int file, long offset, long bytes) =>
        ShowsNobodyItsBytes
        && bytes >= Backend.FilePages.BytesLeast
        && Backend.CachedBytes(file, offset, Backend.FilePages.BytesLeast) == Backend.FilePages.BytesLeast;

    /// <summary>
    /// Flushes what was written, and pages of a file behind it, as long as they are at hand. Returns how many bytes of the file are with
    /// the kernel: of the others nothing is said, a read will tell. -1 when nothing can reach the peer any more.
    /// </summary>
    /// <remarks>
    /// Who writes to the file afterwards changes what the peer reads, until it has read it: see <see cref="AcknowledgedAsync"/>. The file
    /// is the caller's, and may be closed when this has ended.
    /// </remarks>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    internal async ValueTask<long> SendFilePagesAsync(int file, long offset, long bytes)
    {
        Filling().WriteFile(file, offset, bytes);
        _refusedFileBytes = _cachedUntilMs = 0;
        return await FlushAsync() == FlushOutcome.Closed ? -1 : bytes - _refusedFileBytes;
    }

    /// <summary>
    /// Waits until the peer has acknowledged the output up to <paramref name="writtenBytes"/>, and by how much more a local one may have
    /// left unread: nobody looks at a page that was sent before that place any more. False when the peer takes too long, or is gone.
    /// </summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    internal async ValueTask<bool> AcknowledgedAsync(long writtenBytes)
    {
        Debug.Assert(UnflushedBytes == 0, "What waits for this may go out with what was flushed before.");
        long enough = writtenBytes + Backend.FilePages.PeerQueueBytes;
        if (AcknowledgedBytes() >= enough)
        {
            return true;
        }

        var watch = new RateWatch();
        watch.Begin(Reactor.NowMs, Reactor.WriteStallMs, Limits.WriteBytesPerSecond, BytesTaken());
        while (true)
        {
            try
            {
                await Reactor.Delay(TimeSpan.FromMilliseconds(AcknowledgedLookMs));
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

    /// <summary>Whether output goes to the kernel as it is, and that sends pages.</summary>
    private bool ShowsNobodyItsBytes => _takesPages && _outermostStage is null;

    private bool MayBeAcknowledged => !IsOutputLost && _receiveEnd != ReceiveEnd.Reset && !Backend.IsOver(_socket);

    /// <summary>
    /// What cannot be sent of a file is refused, which is no fault of the connection: whoever reads it instead is told what it was.
    /// </summary>
    private nint RefuseWhatIsOfTheFile(nint sent)
    {
        _filePagesAreRefused = sent == 0 || (sent < 0 && !IsOfSocket((int)-sent));
        return _filePagesAreRefused ? 0 : sent;
    }

    /// <summary>How much of a file is at hand, of so many bytes that may be sent now.</summary>
    private long CachedBytes(int file, long offset, long bytes)
    {
        if (Reactor.NowMs < _cachedUntilMs && _cachedEnd > offset)
        {
            // Not for the page: on XFS sendfile waits for who writes to the file, and this one does not.
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

    /// <summary>Whether an error is the connection's, or passes. A file may have any other: its file system decides.</summary>
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
