using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>
/// Sends from the batch's own memory. Such a send completes twice: with its result the kernel is done with the socket, and with a notice,
/// after the peer has acknowledged all or the socket is gone with its queue, it is done with the memory. Until then the kernel owns the
/// batch and the memory written by reference: no flush completes, no other send begins, and the slot is not reused.
/// </content>
public sealed partial class Connection
{
    private bool _sendIsZeroCopy;
    private bool _copiesSends;
    private bool _noticeAwaited;
    private int _resultBeforeNotice;

    /// <summary>
    /// Whether no operation uses the socket. An outstanding notice does not count: for a peer that acknowledges nothing it comes only after
    /// the socket is closed.
    /// </summary>
    private bool IsSocketFree => _operationsInFlight == (_noticeAwaited ? 1 : 0);

    private void OpenZeroCopy() => _copiesSends = _noticeAwaited = false;

    /// <summary>A result, errors included, that precedes its notice; it is processed when the notice arrives.</summary>
    private void AwaitNotice(int result)
    {
        _noticeAwaited = true;
        _resultBeforeNotice = result;
        Progress();
    }

    /// <summary>The result of a send whose terminal completion has returned its memory.</summary>
    private int TakeNotice(in Completion completion)
    {
        int result = _noticeAwaited ? _resultBeforeNotice : completion.Result;
        _noticeAwaited = false;
        return result;
    }

    /// <summary>
    /// The socket only copies (a unix socket), or no more memory can be locked: this batch and all later ones are sent from a copy.
    /// </summary>
    private bool MustCopy(int result) =>
        _sendIsZeroCopy && Phase != ConnectionPhase.Closing && -result is (Errno.EOPNOTSUPP or Errno.EINVAL or Errno.ENOMEM);
}
