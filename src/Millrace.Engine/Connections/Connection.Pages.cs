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
    /// <summary>From here on two calls cost less than the copy (`bench/limit --sendfile` beside `bench/limit`).</summary>
    private const int PagesBytesLeast = 32 * 1024;

    /// <summary>So much in a call: others want their turn, too.</summary>
    private const int PagesBytesPerTurn = 1024 * 1024;

    private bool _takesPages;
    private bool _sendIsOfPages;
    private bool _awaitsRoom;

    /// <summary>Since it was last told that there is room, nothing was sent.</summary>
    private bool _roomIsUntried;

    private void OpenPages()
    {
        // A unix socket copies all the same, and what it takes at a time is bounded (see ListenerCore.SendBytesMax).
        _takesPages = _listener!.TakesPages;
        _sendIsOfPages = _awaitsRoom = _roomIsUntried = false;
    }

    private unsafe void SendPages(OperationToken token)
    {
        nint result = 0;
        _sendIsOfPages = true;
        _sendIsZeroCopy = false;
        MessageHeader* before = _sending!.AsMessageBeforePages(out long bytesBefore);
        if (before is not null)
        {
            result = Backend.SendBeforeMore(_socket, before);
        }

        if (result == bytesBefore)
        {
            (int file, long offset, nuint bytes) = _sending.FirstPages();
            nint sent = Backend.SendFile(_socket, file, offset, nuint.Min(bytes, PagesBytesPerTurn));
            // At the end of a file there is nothing to send: it is another than was mapped, and the memory is what was meant.
            sent = sent == 0 ? -Errno.EINVAL : sent;
            result = sent > 0 || bytesBefore == 0 ? result + sent : result;
        }

        if (result == -Errno.EAGAIN && !_roomIsUntried)
        {
            _awaitsRoom = true;
            Backend.SubmitAwaitRoom(token, _socket);
        }
        else
        {
            _roomIsUntried = false;
            Backend.SubmitResult(token, (int)result);
        }
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
        if (_awaitsRoom)
        {
            _awaitsRoom = false;
            _roomIsUntried = result >= 0;
            return Math.Min(result, 0);
        }

        if (-result is Errno.EINVAL or Errno.ENOSYS or Errno.EPERM && Phase != ConnectionPhase.Closing)
        {
            _takesPages = false;
            return 0;
        }

        return result;
    }
}
