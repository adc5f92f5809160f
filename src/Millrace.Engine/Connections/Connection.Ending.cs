using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>The ways out: orderly with a linger, and by reset. Either ends with the kernel letting go and the slot returned.</content>
public sealed partial class Connection
{
    /// <summary>
    /// How long a connection lingers that was idle when the group stopped, and whose peer had acknowledged every byte: no answer can be
    /// lost any more, only a request that crosses our end in flight, and whoever sends that must be ready to repeat it (RFC 9112,
    /// section 9.5). So long that this one meets our end and not a reset.
    /// </summary>
    private const int IdleLingerMs = 100;

    private bool _resetOnClose;
    private bool _receiveCancelled;
    private bool _operationsCancelled;
    private CancelPace _cancelPace;
    private long _cancelAgainMs;
    private bool _endsIdle;
    private int _fault;

    /// <summary>
    /// What has broken the connection, where that was no reset: a way to the peer that is lost, say (ETIMEDOUT, EHOSTUNREACH). Null
    /// otherwise.
    /// </summary>
    internal string? Fault => _fault == 0 ? null : Errno.Describe(-_fault);

    /// <summary>
    /// A second descriptor of the socket, where somebody is to have one: disposed of before the first is closed, which would end nothing
    /// for the peer otherwise, nor for an epoll that has it.
    /// </summary>
    internal IDisposable? Duplicate { get; set; }

    /// <summary>
    /// Ends the connection at once with a reset; what is unsent is dropped. Waits end with Reset or Closed. Nothing happens when it has
    /// ended. For its handler: others have <see cref="AbortHandle"/>.
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
    /// As <see cref="Abort"/>, but with a FIN: for a peer that has ended, or where a reset is not wanted. What the kernel has is still
    /// sent; a peer that is owed more takes a cut answer for a whole one.
    /// </summary>
    internal void Finish()
    {
        if (!IsEnding())
        {
            EndNow();
        }
    }

    /// <summary>The drain deadline. Who lingers has sent all: a reset would only destroy what its peer has not read yet.</summary>
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
        Reactor.AssertHome();
        return Phase is ConnectionPhase.Free or ConnectionPhase.Closing or ConnectionPhase.Closed;
    }

    private void EndNow()
    {
        // The phase first: ending the waits runs the handler, which may return and take the rest of the way itself.
        _outputBroken = true;
        Phase = ConnectionPhase.Closing;
        CancelOperations();
        EndInput(ReceiveEnd.Reset);
        Progress();
    }

    /// <summary>Nobody serves it any more: what was written goes out, and then it ends.</summary>
    private void EndServing()
    {
        Phase = ConnectionPhase.Flushing;
        _discardBytesLeft = Limits.LingerBytes;
        _peerIsThrough &= _input.Count == 0;
        DiscardInput();
        FlushLast();
    }

    private void OpenEnding()
    {
        _resetOnClose = false;
        _receiveCancelled = false;
        _operationsCancelled = false;
        _cancelPace = default;
        _cancelAgainMs = long.MaxValue;
        _endsIdle = false;
        _peerIsThrough = false;
        _fault = 0;
    }

    private void NoteFault(int errno)
    {
        if (errno is not (Errno.ECONNRESET or Errno.EPIPE or Errno.ECANCELED))
        {
            _fault = errno;
        }
    }

    /// <summary>The group stops, and this connection waits for nothing but a next request: it ends.</summary>
    private void EndIdle()
    {
        NoteIdleEnd();
        _read.Complete(ReadOutcome.Draining);
    }

    private void NoteIdleEnd() => _endsIdle = _sending is null && _filling is null;

    /// <summary>What went wrong is this connection's alone, and its end.</summary>
    private void Fail(Exception error)
    {
        if (error is OutOfMemoryException)
        {
            Reactor.NoteStarved();
        }
        else
        {
            Reactor.Log.StageFailed(error);
        }

        Abort();
    }

    /// <summary>Goes as far towards the end as the present allows. Called after everything that may have opened the way.</summary>
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

        if (Phase == ConnectionPhase.Closing && IsSocketFree && TryCallIn())
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
            _peerIsThrough = false;
            // Asked before our end is queued: it counts as a byte.
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

    /// <summary>Asks the kernel to let go. Whatever it still holds stays untouched until it says so, operation by operation.</summary>
    private void CancelOperations()
    {
        if (_operationsCancelled)
        {
            return;
        }

        _operationsCancelled = true;
        SubmitCancels();
    }

    /// <summary>What was told to end has not.</summary>
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

        _cancelAgainMs = _cancelPace.NextMs(Reactor.NowMs);
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
        Witness?.OnGone(this);
        ReleaseStages();
        DiscardInput();
        _listener = null;
        _footprint.Clear();
        Generation = (Generation + 1) & OperationToken.GenerationMask;
        Phase = ConnectionPhase.Free;
        Reactor.Release(this, _ticket);
    }
}
