using Millrace.Engine.Backends;
using Millrace.Interop;

namespace Millrace.Engine.Connections;

/// <summary>
/// The two ends of a connection: orderly with a linger, and by reset. After either the kernel has returned all memory. A peer that has
/// announced its last request needs no linger, and after a single request no second receive: the end then takes two calls, of which the
/// peer sees one segment, the last bytes with the FIN. Reactor thread.
/// </summary>
internal sealed class ConnectionEnding(Connection connection)
{
    /// <summary>
    /// The linger of a connection that was idle when the group stopped and whose peer had acknowledged every byte: no response can be lost
    /// any more, only a request that crosses the FIN, which the client must be ready to repeat (RFC 9112, section 9.5). Long enough for
    /// such a request to meet the FIN and not a reset.
    /// </summary>
    private const int IdleLingerMs = 100;

    private bool _resetsOnClose;
    private bool _isCancelling;
    private CancelRetry _cancelRetry;

    /// <summary>The connection was between two requests, with all sent, when the group stopped.</summary>
    private bool _endsIdle;
    private int _fault;

    public long CancelAgainMs { get; private set; }

    /// <summary>Whether the peer has announced its last request, and the handler has not been given more since.</summary>
    public bool IsLastRequest { get; set; }

    /// <summary>
    /// The error that ended the connection, if it was not a reset: ETIMEDOUT or EHOSTUNREACH, for example; null otherwise.
    /// </summary>
    public string? Fault => _fault == 0 ? null : Errno.Describe(-_fault);

    /// <summary>
    /// Whether no linger is needed. Not while the group stops: the linger confirms that the response has arrived before the process, and
    /// perhaps its network, ends.
    /// </summary>
    public bool MayEndAtOnce => IsLastRequest && !connection.Writer.IsBroken && !connection.Reactor.IsDraining;

    /// <summary>Whether no operation uses the socket; a zero-copy notice does not.</summary>
    public bool IsSocketFree => connection.OperationsInFlight == (connection.Sender.IsNoticeAwaited ? 1 : 0);

    public void Reset()
    {
        _resetsOnClose = _isCancelling = _endsIdle = IsLastRequest = false;
        _cancelRetry = default;
        CancelAgainMs = long.MaxValue;
        _fault = 0;
    }

    public void ResetOnClose() => _resetsOnClose = true;

    public void NoteFault(int errno)
    {
        if (errno is not (Errno.ECONNRESET or Errno.EPIPE or Errno.ECANCELED))
        {
            _fault = errno;
        }
    }

    /// <summary>
    /// Called by a handler whose peer has announced its last request, before the handler consumes the last of the input, which would resume
    /// the receive. When the handler has returned and all is sent, the connection closes without waiting for the peer's FIN. A peer that
    /// sends nevertheless may be reset before it has read the response.
    /// </summary>
    public void NoteLastRequest()
    {
        connection.AssertUsable();
        // Filters may have a last message of their own, such as close_notify.
        IsLastRequest = connection.Filters.IsEmpty;
    }

    public void NoteIdleEnd() => _endsIdle = connection.Sender.IsIdle && connection.Writer.IsEmpty;

    public void NoteSend(long plainBytes) => _endsIdle &= plainBytes == 0;

    /// <summary>The handler has returned for good: what was written is sent, then the connection ends.</summary>
    public void EndServing()
    {
        connection.MoveTo(ConnectionPhase.Flushing);
        connection.Receiver.BeginDiscard();
        IsLastRequest &= connection.Reader.Count == 0;
        connection.Reader.Discard();
        connection.Writer.FlushLast();
    }

    /// <summary>
    /// A filter cannot go on. The handler's waits end as by a reset and its output is dropped; the filter's final bytes are sent, so that
    /// the peer learns the reason, and the connection ends in order.
    /// </summary>
    public void EndFromFilter()
    {
        connection.Filters.EndInput(ReceiveEnd.Reset);
        if (connection.Phase == ConnectionPhase.Serving)
        {
            // The handler still runs: its input stays valid until it has returned.
            connection.MoveTo(ConnectionPhase.Flushing);
            connection.Receiver.BeginDiscard();
            connection.Writer.Discard();
            connection.Filters.RequestSend();
            connection.Writer.EndFlushIfDone();
        }

        connection.Progress();
    }

    /// <summary>Ends the connection at once, with a reset or a FIN. No effect after the end.</summary>
    public void EndNow(bool withReset)
    {
        if (connection.Phase is ConnectionPhase.Free or ConnectionPhase.Closing or ConnectionPhase.Closed)
        {
            return;
        }

        // Sets the phase first: ending the waits runs the handler, which may return and complete the end itself.
        _resetsOnClose |= withReset;
        connection.Writer.IsBroken = true;
        connection.MoveTo(ConnectionPhase.Closing);
        CancelOperations();
        connection.Receiver.EndInput(ReceiveEnd.Reset);
        connection.Progress();
    }

    /// <summary>
    /// The drain deadline. A lingering connection has sent all: a reset would only destroy what its peer has not read yet.
    /// </summary>
    public void EndAtDeadline()
    {
        if (connection.Phase == ConnectionPhase.Lingering)
        {
            BeginClose();
        }
        else
        {
            EndNow(withReset: true);
        }
    }

    public void Shed()
    {
        connection.Holdings.Shed();
        EndNow(withReset: true);
    }

    public void ShedIdle()
    {
        connection.Holdings.Shed();
        NoteIdleEnd();
        EndNow(withReset: false);
    }

    /// <summary>All is sent: sends the FIN and waits for the peer's, where that is needed.</summary>
    public void BeginLinger()
    {
        connection.MoveTo(ConnectionPhase.Lingering);
        if (MayEndAtOnce)
        {
            BeginClose();
        }
        else if (connection.Writer.IsBroken)
        {
            connection.Receiver.EndInput(ReceiveEnd.Reset);
        }
        else if (connection.Receiver.End == ReceiveEnd.None)
        {
            IsLastRequest = false;
            // Queried before the FIN is queued, which counts as a byte.
            bool hasAll = _endsIdle && connection.Backend.UnacknowledgedBytes(connection.Descriptor) == 0;
            connection.Backend.ShutdownSend(connection.Descriptor);
            connection.Receiver.BeginDiscard();
            connection.Timers.SetLingerDeadline(hasAll ? IdleLingerMs : (long)connection.Limits.Linger.TotalMilliseconds);
            connection.Receiver.Resume();
        }
    }

    public void BeginClose(bool withReset = false)
    {
        _resetsOnClose |= withReset;
        connection.MoveTo(ConnectionPhase.Closing);
        CancelOperations();
        connection.Progress();
    }

    public void CloseSocket()
    {
        connection.Duplicate?.Dispose();
        connection.Duplicate = null;
        if (_resetsOnClose)
        {
            connection.Backend.ResetOnClose(connection.Descriptor);
        }

        connection.Backend.CloseSocket(connection.Descriptor);
    }

    public void CheckCancels(long nowMs)
    {
        if (nowMs >= CancelAgainMs)
        {
            SubmitCancels();
        }
    }

    /// <summary>Asks the kernel to end its operations. Memory in use stays untouched until each operation completes.</summary>
    private void CancelOperations()
    {
        if (!_isCancelling)
        {
            _isCancelling = true;
            SubmitCancels();
        }
    }

    private void SubmitCancels()
    {
        if (IsSocketFree)
        {
            CancelAgainMs = long.MaxValue;
            return;
        }

        CancelIf(connection.Receiver.IsArmed, OperationKind.Receive);
        CancelIf(connection.Sender.IsInFlight && !connection.Sender.IsNoticeAwaited, OperationKind.Send);
        CancelIf(connection.IsReadingFile, OperationKind.FileRead);
        CancelAgainMs = _cancelRetry.NextMs(connection.Reactor.NowMs);
        connection.Timers.WakeAt(CancelAgainMs);
    }

    private void CancelIf(bool isInFlight, OperationKind kind)
    {
        if (isInFlight)
        {
            connection.Backend.SubmitCancel(connection.Token(kind));
        }
    }
}
