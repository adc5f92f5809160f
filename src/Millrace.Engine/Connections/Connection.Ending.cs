using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>
/// The two ends: orderly with a linger, and by reset. After either the kernel has returned all memory and the slot is free.
/// </content>
public sealed partial class Connection
{
    /// <summary>
    /// The linger of a connection that was idle when the group stopped and whose peer had acknowledged every byte: no response can be lost
    /// any more, only a request that crosses the FIN, which the client must be ready to repeat (RFC 9112, section 9.5). Long enough for
    /// such a request to meet the FIN and not a reset.
    /// </summary>
    private const int IdleLingerMs = 100;

    private bool _resetOnClose;
    private bool _receiveCancelled;
    private bool _operationsCancelled;
    private CancelRetry _cancelRetry;
    private long _cancelAgainMs;
    private bool _endsIdle;
    private int _fault;

    /// <summary>
    /// The error that ended the connection, if it was not a reset: ETIMEDOUT or EHOSTUNREACH, for example; null otherwise.
    /// </summary>
    internal string? Fault => _fault == 0 ? null : Errno.Describe(-_fault);

    /// <summary>
    /// A duplicate descriptor of the socket. It is disposed of before the first is closed: otherwise the close would reach neither the peer
    /// nor an epoll instance that holds the duplicate.
    /// </summary>
    internal IDisposable? Duplicate { get; set; }

    /// <summary>
    /// Ends the connection at once with a reset; unsent output is dropped. Waits end with Reset or Closed. No effect after the end. For the
    /// handler; other threads use <see cref="AbortHandle"/>.
    /// </summary>
    public void Abort()
    {
        if (!IsEnding())
        {
            _resetOnClose = true;
            EndNow();
        }
    }

    /// <summary>
    /// As <see cref="Abort"/>, but with a FIN: for a peer that has ended, or where a reset is not wanted. The kernel still sends what it
    /// has; a peer that is owed more may take a truncated response for a complete one.
    /// </summary>
    internal void Finish()
    {
        if (!IsEnding())
        {
            EndNow();
        }
    }

    /// <summary>
    /// The drain deadline. A lingering connection has sent all: a reset would only destroy what its peer has not read yet.
    /// </summary>
    internal void EndAtDeadline()
    {
        if (Phase == ConnectionPhase.Lingering)
        {
            BeginClose();
        }
        else
        {
            Abort();
        }
    }

    private bool IsEnding()
    {
        Reactor.AssertReactorThread();
        return Phase is ConnectionPhase.Free or ConnectionPhase.Closing or ConnectionPhase.Closed;
    }

    private void EndNow()
    {
        // Sets the phase first: ending the waits runs the handler, which may return and complete the end itself.
        _outputBroken = true;
        Phase = ConnectionPhase.Closing;
        CancelOperations();
        EndInput(ReceiveEnd.Reset);
        Progress();
    }

    /// <summary>The handler has returned for good: what was written is sent, then the connection ends.</summary>
    private void EndServing()
    {
        Phase = ConnectionPhase.Flushing;
        _discardBytesLeft = Limits.LingerBytes;
        _isLastRequest &= _input.Count == 0;
        DiscardInput();
        FlushLast();
    }

    private void OpenEnding()
    {
        _resetOnClose = false;
        _receiveCancelled = false;
        _operationsCancelled = false;
        _cancelRetry = default;
        _cancelAgainMs = long.MaxValue;
        _endsIdle = false;
        _isLastRequest = false;
        _fault = 0;
    }

    private void NoteFault(int errno)
    {
        if (errno is not (Errno.ECONNRESET or Errno.EPIPE or Errno.ECANCELED))
        {
            _fault = errno;
        }
    }

    /// <summary>The group stops and the connection waits only for a next request: it ends.</summary>
    private void EndIdle()
    {
        NoteIdleEnd();
        _read.Complete(ReadOutcome.Draining);
    }

    private void NoteIdleEnd() => _endsIdle = _sending is null && _filling is null;

    /// <summary>An error of this connection: logged, and the connection aborts.</summary>
    private void Fail(Exception error)
    {
        if (error is OutOfMemoryException)
        {
            Reactor.NoteStarved();
        }
        else
        {
            Reactor.Log.FilterFailed(error);
        }

        Abort();
    }

    /// <summary>Moves towards the end as far as possible now. Called after each event that may allow a step.</summary>
    private void Progress()
    {
        if (Phase == ConnectionPhase.Flushing && IsOutputDrained)
        {
            BeginLinger();
        }

        if (Phase == ConnectionPhase.Lingering && _receiveEnd != ReceiveEnd.None)
        {
            BeginClose();
        }

        if (Phase == ConnectionPhase.Closing && IsSocketFree && TryRevokeLease())
        {
            CloseSocket();
        }

        if (Phase == ConnectionPhase.Closed && _handler is null && _operationsInFlight == 0)
        {
            Recycle();
        }
    }

    private void BeginLinger()
    {
        Phase = ConnectionPhase.Lingering;
        if (MayEndAtOnce)
        {
            BeginClose();
        }
        else if (_receiveEnd == ReceiveEnd.None && !_outputBroken)
        {
            _isLastRequest = false;
            // Queried before the FIN is queued, which counts as a byte.
            bool hasAll = _endsIdle && Backend.UnacknowledgedBytes(_socket) == 0;
            Backend.ShutdownSend(_socket);
            _discardBytesLeft = Limits.LingerBytes;
            SetLingerDeadline(hasAll ? IdleLingerMs : (long)Limits.Linger.TotalMilliseconds);
            ResumeReceive();
        }
        else if (_outputBroken)
        {
            EndInput(ReceiveEnd.Reset);
        }
    }

    private void BeginClose()
    {
        Phase = ConnectionPhase.Closing;
        CancelOperations();
        Progress();
    }

    /// <summary>Asks the kernel to end its operations. Memory in use stays untouched until each operation completes.</summary>
    private void CancelOperations()
    {
        if (_operationsCancelled)
        {
            return;
        }

        _operationsCancelled = true;
        SubmitCancels();
    }

    /// <summary>Repeats cancels that have not taken effect.</summary>
    private void CheckCancels(long nowMs)
    {
        if (nowMs >= _cancelAgainMs)
        {
            SubmitCancels();
        }
    }

    private void SubmitCancels()
    {
        if (IsSocketFree)
        {
            _cancelAgainMs = long.MaxValue;
            return;
        }

        if (_receiveArmed)
        {
            Backend.SubmitCancel(Token(OperationKind.Receive));
        }

        if (_sendInFlight && !_noticeAwaited)
        {
            Backend.SubmitCancel(Token(OperationKind.Send));
        }

        if (_fileReadInFlight)
        {
            Backend.SubmitCancel(Token(OperationKind.FileRead));
        }

        _cancelAgainMs = _cancelRetry.NextMs(Reactor.NowMs);
        WakeAt(_cancelAgainMs);
    }

    private void CloseSocket()
    {
        Duplicate?.Dispose();
        Duplicate = null;
        if (_resetOnClose)
        {
            Backend.ResetOnClose(_socket);
        }

        Backend.CloseSocket(_socket);
        _socket = -1;
        Phase = ConnectionPhase.Closed;
        Reactor.Timers.Cancel(Slot);
        BreakInput();
        BreakOutput();
    }

    private void Recycle()
    {
        Debug.Assert(_operationsInFlight == 0 && _socket == -1 && _handler is null);
        DropOutput();
        Observer?.OnGone(this);
        ReleaseFilters();
        DiscardInput();
        CloseHolding();
        _listener = null;
        _prefetch.Clear();
        Generation = (Generation + 1) & OperationToken.GenerationMask;
        Phase = ConnectionPhase.Free;
        Reactor.Release(this, _lease);
    }
}
