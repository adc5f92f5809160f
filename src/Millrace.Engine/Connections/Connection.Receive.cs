using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>Input on its way from the kernel: the (multishot) receive, the filters, and back-pressure.</content>
public sealed partial class Connection
{
    private bool _receiveArmed;
    private bool _isStarved;
    private long _receivedBytes;
    private int _discardBytesLeft;

    /// <summary>Whether the peer has sent something for the handler; bytes that only filters have seen do not count.</summary>
    private bool HasReceived => _outermostFilter is null ? _receivedBytes > 0 : _hasPassedFilters;

    private bool WantsReceive =>
        !_receiveArmed
        && !_isStarved
        && !_isLastRequest
        && (Phase == ConnectionPhase.Serving
            || (Phase is ConnectionPhase.Flushing or ConnectionPhase.Lingering && _discardBytesLeft >= 0))
        && _receiveEnd == ReceiveEnd.None
        && (_input.Count < Limits.InputHighWaterBytes || _read.IsPending);

    internal unsafe void OnReceived(in Completion completion)
    {
        if (completion.IsTerminal)
        {
            _receiveArmed = false;
            _operationsInFlight--;
        }

        if (completion.Result > 0)
        {
            _receivedBytes += completion.Result;
            Reactor.Counters.BytesReceived += completion.Result;
            TakeBytesOrFail(completion.Data, completion.Result);
        }
        else
        {
            TakeReceiveError(-completion.Result);
        }

        if (!_receiveArmed)
        {
            ResumeReceive();
            Progress();
        }
    }

    /// <summary>A receive buffer is available for this connection.</summary>
    internal void RetryStarved()
    {
        _isStarved = false;
        if (WantsReceive)
        {
            SubmitReceive();
        }
    }

    /// <summary>A filter that fails or a lack of memory ends this connection only.</summary>
    private unsafe void TakeBytesOrFail(byte* bytes, int count)
    {
        try
        {
            TakeBytes(bytes, count);
        }
#pragma warning disable CA1031 // A filter's exception must not reach the reactor's loop.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _input.DropBorrowed();
            Fail(error);
        }
    }

    private unsafe void TakeBytes(byte* bytes, int count)
    {
        if (Phase != ConnectionPhase.Serving)
        {
            Discard(count);
        }
        else if (_outermostFilter is not null)
        {
            _outermostFilter.Receive(new ReadOnlySpan<byte>(bytes, count));
        }
        else
        {
            ShowInput(bytes, count);
        }
    }

    /// <summary>
    /// Discards input that nothing reads any more. Beyond the limit, a peer that keeps sending is paused while it still takes the response,
    /// and reset afterwards.
    /// </summary>
    private void Discard(int count)
    {
        _isLastRequest = false;
        _discardBytesLeft -= count;
        if (_discardBytesLeft >= 0)
        {
            return;
        }

        if (Phase == ConnectionPhase.Flushing)
        {
            CancelReceive();
        }
        else if (Phase == ConnectionPhase.Lingering)
        {
            _resetOnClose = true;
            BeginClose();
        }
    }

    private void TakeReceiveError(int errno)
    {
        // The lease is checked before the error: the other thread records its error before it returns the lease.
        bool isReset = errno == 0 && IsBrokenWhileLeased();
        errno = WithDirectSendError(errno);
        errno = errno == 0 && isReset ? Errno.ECONNRESET : errno;
        switch (errno)
        {
            case 0:
                EndInput(ReceiveEnd.Finished);
                break;
            case Errno.ENOBUFS:
                // Not an end: all receive buffers are in use. A reset here would break healthy connections.
                WaitForBuffer();
                break;
            case Errno.ECANCELED:
                // Paused for back-pressure, or closing.
                _receiveCancelled = false;
                break;
            case Errno.EINTR or Errno.EAGAIN:
                break;
            default:
                NoteFault(errno);
                EndInput(ReceiveEnd.Reset);
                break;
        }
    }

    private void SubmitReceive()
    {
        Debug.Assert(!_receiveArmed && IsOpen);
        _receiveArmed = true;
        _receiveCancelled = false;
        _operationsInFlight++;
        if (_receivedBytes == 0)
        {
            // Some clients send one request only: a single-shot receive leaves nothing to cancel before the close.
            Backend.SubmitReceiveOnce(Token(OperationKind.Receive), _socket);
        }
        else
        {
            Backend.SubmitReceive(Token(OperationKind.Receive), _socket);
        }
    }

    /// <summary>
    /// Resumes the receive if it is wanted. Connections that wait for a receive buffer come first: newcomers would starve them.
    /// </summary>
    private void ResumeReceive()
    {
        if (!WantsReceive)
        {
            return;
        }

        if (Reactor.HasStarved)
        {
            WaitForBuffer();
        }
        else
        {
            SubmitReceive();
        }
    }

    private void PauseReceiveIfFull()
    {
        // A handler that waits for more has seen all input and is not behind.
        if (_input.Count >= Limits.InputHighWaterBytes && !_read.IsPending)
        {
            CancelReceive();
        }
    }

    private void CancelReceive()
    {
        if (_receiveArmed && !_receiveCancelled)
        {
            _receiveCancelled = true;
            Backend.SubmitCancel(Token(OperationKind.Receive));
        }
    }

    private void WaitForBuffer()
    {
        if (!_isStarved)
        {
            _isStarved = true;
            Reactor.QueueStarved(this);
        }
    }
}
