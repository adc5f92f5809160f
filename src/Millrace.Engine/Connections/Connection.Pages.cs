using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine;

/// <content>
/// Sends file pages by reference, where copying them costs more than two system calls. io_uring has no operation for it, so the calls are
/// made directly: one per connection and iteration, with the bytes before the pages, so that other connections are not delayed.
/// </content>
public sealed partial class Connection
{
    /// <summary>From this size on two calls cost less than the copy. Bodies kept in memory below it are not put into pages.</summary>
    private const int PagesBytesMin = 64 * 1024;

    /// <summary>Limit per call, for fairness between connections.</summary>
    private const int PagesBytesPerIteration = 1024 * 1024;

    private bool _takesPages;
    private bool _sendIsOfPages;
    private bool _awaitsWritable;

    /// <summary>The last call took less than offered: the next would return EAGAIN.</summary>
    private bool _isFull;

    /// <summary>Nothing was sent since the socket was last reported writable.</summary>
    private bool _writableIsUntried;

    private void OpenPages()
    {
        // A unix socket copies in any case, and its sends are limited (see ListenerContext.SendBytesMax).
        _takesPages = _listener!.TakesPages;
        _sendIsOfPages = _awaitsWritable = _isFull = _writableIsUntried = _filePagesAreRefused = false;
    }

    private unsafe void SendPages(OperationToken token)
    {
        nint result = 0;
        _sendIsOfPages = true;
        _sendIsZeroCopy = false;
        if (_isFull)
        {
            _isFull = false;
            AwaitWritable(token);
            return;
        }

        MessageHeader* before = _sending!.AsMessageBeforePages(out long bytesBefore, out bool isAll);
        if (before is not null)
        {
            result = Backend.SendBeforeMore(_socket, before);
        }

        if (isAll && result == bytesBefore)
        {
            nint sent = SendFirstPages();
            result = sent > 0 || bytesBefore == 0 ? result + sent : result;
        }

        if (result == -Errno.EAGAIN && !_writableIsUntried)
        {
            AwaitWritable(token);
        }
        else
        {
            _writableIsUntried = false;
            Backend.SubmitResult(token, (int)result);
        }
    }

    private nint SendFirstPages()
    {
        (int file, long offset, nuint bytes) = _sending!.FirstPages();
        bool isMapped = _sending.FirstPagesAreMapped;
        long most = (long)nuint.Min(bytes, PagesBytesPerIteration);
        long requested = isMapped ? most : CachedBytes(file, offset, most);
        nint sent = requested == 0 ? 0 : Backend.SendFile(_socket, file, offset, (nuint)requested);
        Debug.Assert(!isMapped || sent != 0, "A file of pages ends before its mapping does.");
        _isFull = sent > 0 && sent < requested;
        return isMapped ? sent : RefuseFileError(sent);
    }

    private void AwaitWritable(OperationToken token)
    {
        _awaitsWritable = true;
        Backend.SubmitAwaitRoom(token, _socket);
    }

    /// <summary>
    /// Interprets the completion of a page send: "writable" is progress of 0 bytes, and where the kernel cannot send pages, copies are sent
    /// from then on.
    /// </summary>
    private int ResultForPages(int result)
    {
        if (!_sendIsOfPages)
        {
            return result;
        }

        _sendIsOfPages = false;
        if (_filePagesAreRefused)
        {
            DropRefusedFile();
            return result;
        }

        if (_awaitsWritable)
        {
            _awaitsWritable = false;
            _writableIsUntried = result >= 0;
            return Math.Min(result, 0);
        }

        if (-result is Errno.EINVAL or Errno.ENOSYS or Errno.EPERM && _sending!.FirstPagesAreMapped && Phase != ConnectionPhase.Closing)
        {
            _takesPages = false;
            return 0;
        }

        return result;
    }
}
