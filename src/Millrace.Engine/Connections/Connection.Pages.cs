using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine;

/// <content>
/// Sends pages of files by reference, where a copy of as many bytes costs more than two system calls. There is no operation of a ring for
/// it, so they are calls, of which each turn does one for a connection, with what stands before the pages: nobody else waits longer.
/// </content>
public sealed partial class Connection
{
    /// <summary>From here on two calls cost less than the copy. Whoever keeps bodies makes no pages of smaller ones.</summary>
    private const int PagesBytesLeast = 64 * 1024;

    /// <summary>So much in a call: others want their turn, too.</summary>
    private const int PagesBytesPerTurn = 1024 * 1024;

    private bool _takesPages;
    private bool _sendIsOfPages;
    private bool _awaitsRoom;

    /// <summary>The last call took less than it was given: the next would be told that there is no room.</summary>
    private bool _isFull;

    /// <summary>Since it was last told that there is room, nothing was sent.</summary>
    private bool _roomIsUntried;

    private void OpenPages()
    {
        // A unix socket copies all the same, and what it takes at a time is bounded (see ListenerCore.SendBytesMax).
        _takesPages = _listener!.TakesPages;
        _sendIsOfPages = _awaitsRoom = _isFull = _roomIsUntried = _filePagesAreRefused = false;
    }

    private unsafe void SendPages(OperationToken token)
    {
        nint result = 0;
        _sendIsOfPages = true;
        _sendIsZeroCopy = false;
        if (_isFull)
        {
            _isFull = false;
            AwaitRoom(token);
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

        if (result == -Errno.EAGAIN && !_roomIsUntried)
        {
            AwaitRoom(token);
        }
        else
        {
            _roomIsUntried = false;
            Backend.SubmitResult(token, (int)result);
        }
    }

    private nint SendFirstPages()
    {
        (int file, long offset, nuint bytes) = _sending!.FirstPages();
        bool isMapped = _sending.FirstPagesAreMapped;
        long most = (long)nuint.Min(bytes, PagesBytesPerTurn);
        long asked = isMapped ? most : CachedBytes(file, offset, most);
        nint sent = asked == 0 ? 0 : Backend.SendFile(_socket, file, offset, (nuint)asked);
        Debug.Assert(!isMapped || sent != 0, "A file of pages ends before its mapping does.");
        _isFull = sent > 0 && sent < asked;
        return isMapped ? sent : RefuseWhatIsOfTheFile(sent);
    }

    private void AwaitRoom(OperationToken token)
    {
        _awaitsRoom = true;
        Backend.SubmitAwaitRoom(token, _socket);
    }

    /// <summary>
    /// What the completion of a send means where pages are sent: that there is room says nothing yet, and a kernel that does not send pages
    /// is given copies.
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

        if (_awaitsRoom)
        {
            _awaitsRoom = false;
            _roomIsUntried = result >= 0;
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
