using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>Input on its way from the kernel: the receive, which may go on by itself, through the stages, and back-pressure.</content>
public sealed partial class Connection
{
    private bool _receiveArmed;
    private bool _receiveParked;
    private long _receivedBytes;
    private int _discardBytesLeft;

    /// <summary>Whether the peer has sent something for the handler; what only stages have seen is none of it.</summary>
    private bool HasReceived => _outermostStage is null ? _receivedBytes > 0 : _hasPassedStages;

    private bool WantsReceive =>
        !_receiveArmed
        && !_receiveParked
        && !_peerIsThrough
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

    /// <summary>It is this connection's turn to have a receive buffer.</summary>
    internal void Unpark()
    {
        _receiveParked = false;
        if (WantsReceive)
        {
            SubmitReceive();
        }
    }

    /// <summary>Neither a stage that fails nor a lack of memory is more than this connection's end.</summary>
    private unsafe void TakeBytesOrFail(byte* bytes, int count)
    {
        try
        {
            TakeBytes(bytes, count);
        }
#pragma warning disable CA1031 // Whatever comes out of a stage must not reach the reactor's loop.
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
        else if (_outermostStage is not null)
        {
            _outermostStage.Receive(new ReadOnlySpan<byte>(bytes, count));
        }
        else
        {
            ShowInput(bytes, count);
        }
    }

    /// <summary>Nobody reads any more. A peer that goes on is held up while it still takes the answer, and cut off behind it.</summary>
    private void Discard(int count)
    {
        _peerIsThrough = false;
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
        // The loan first: who gives the socket back has said before what he was told.
        bool isReset = errno == 0 && IsBrokenWhileLent();
        errno = ToldElsewhere(errno);
        errno = errno == 0 && isReset ? Errno.ECONNRESET : errno;
        switch (errno)
        {
            case 0:
                EndInput(ReceiveEnd.Finished);
                break;
            case Errno.ENOBUFS:
                // Not an end: all receive buffers are in use. A relative reset healthy connections here.
                ParkReceive();
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
            // Some clients have one request only: nothing is to be taken back then before the close.
            Backend.SubmitReceiveOnce(Token(OperationKind.Receive), _socket);
        }
        else
        {
            Backend.SubmitReceive(Token(OperationKind.Receive), _socket);
        }
    }

    /// <summary>
    /// Receives, unless there is a reason not to. Where others wait for a receive buffer it waits behind them: newcomers that go first
    /// every turn would starve them.
    /// </summary>
    private void ResumeReceive()
    {
        if (!WantsReceive)
        {
            return;
        }

        if (Reactor.HasParked)
        {
            ParkReceive();
        }
        else
        {
            SubmitReceive();
        }
    }

    private void PauseReceiveIfFull()
    {
        // Who waits for more has seen all there is: he is not behind.
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

    private void ParkReceive()
    {
        if (!_receiveParked)
        {
            _receiveParked = true;
            Reactor.Park(this);
        }
    }
}
