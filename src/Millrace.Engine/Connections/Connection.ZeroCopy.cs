using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>
/// Sends from the memory of the batch itself. Such a send completes twice: with its result the kernel has let the socket go, and reads
/// the memory on until its notice, which comes when the peer has acknowledged all, or when the socket is gone with what it held. Until
/// then the batch and what was written by reference are the kernel's: no flush completes, no other send begins, and the slot is nobody's.
/// </content>
public sealed partial class Connection
{
    private bool _sendIsZeroCopy;
    private bool _copiesSends;
    private bool _noticeAwaited;
    private int _resultBeforeNotice;

    /// <summary>
    /// Whether the kernel does nothing to the socket any more. A notice is not waited for: that of a peer which acknowledges nothing comes
    /// only when the socket is closed.
    /// </summary>
    private bool IsSocketFree => _operationsInFlight == (_noticeAwaited ? 1 : 0);

    private void OpenZeroCopy() => _copiesSends = _noticeAwaited = false;

    /// <summary>Errors too may be told before the notice: what follows them is done behind it, as after success.</summary>
    private void AwaitNotice(int result)
    {
        _noticeAwaited = true;
        _resultBeforeNotice = result;
        Progress();
    }

    /// <summary>The result of a send with whose terminal completion its memory has come back.</summary>
    private int TakeNotice(in Completion completion)
    {
        int result = _noticeAwaited ? _resultBeforeNotice : completion.Result;
        _noticeAwaited = false;
        return result;
    }

    /// <summary>
    /// The socket is of a kind that copies only (a unix one, say), or no more memory may be locked: the same goes out from a copy, and so
    /// does the rest of the connection.
    /// </summary>
    private bool MustCopy(int result) =>
        _sendIsZeroCopy && Phase != ConnectionPhase.Closing && -result is (Errno.EOPNOTSUPP or Errno.EINVAL or Errno.ENOMEM);
}
