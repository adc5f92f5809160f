using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Interop;

namespace Millrace.Engine.Connections;

/// <summary>How a connection's input ended.</summary>
internal enum ReceiveEnd : byte
{
    None,

    Finished,

    /// <summary>By a reset, an error or an abort.</summary>
    Reset,
}

/// <summary>
/// A connection's input on its way from the kernel: the (multishot) receive, its back-pressure, and what is discarded at the end. Reactor
/// thread.
/// </summary>
internal sealed class SocketReceiver(Connection connection)
{
    private bool _isCancelled;
    private int _discardBytesLeft;

    public bool IsArmed { get; private set; }

    /// <summary>Whether the connection waits in the reactor's queue for a receive buffer.</summary>
    public bool IsStarved { get; private set; }

    /// <summary>Bytes received; after a filter was removed, those that came after it.</summary>
    public long Bytes { get; set; }

    public ReceiveEnd End { get; private set; }

    /// <summary>Whether the peer has sent something for the handler; bytes that only filters have seen do not count.</summary>
    public bool HasReceived => connection.Filters.IsEmpty ? Bytes > 0 : connection.Filters.HasPassedInput;

    private bool IsWanted =>
        !IsArmed
        && !IsStarved
        && !connection.Ending.IsLastRequest
        && (connection.Phase == ConnectionPhase.Serving
            || (connection.Phase is ConnectionPhase.Flushing or ConnectionPhase.Lingering && _discardBytesLeft >= 0))
        && End == ReceiveEnd.None
        && !connection.Reader.IsFull;

    public void Reset()
    {
        Debug.Assert(!IsArmed);
        _isCancelled = IsStarved = false;
        Bytes = _discardBytesLeft = 0;
        End = ReceiveEnd.None;
    }

    public unsafe void OnReceived(in Completion completion)
    {
        if (completion.IsTerminal)
        {
            IsArmed = false;
            connection.OperationsInFlight--;
        }

        if (completion.Result > 0)
        {
            Bytes += completion.Result;
            connection.Reactor.Counters.BytesReceived += completion.Result;
            TakeBytesOrFail(completion.Data, completion.Result);
        }
        else
        {
            TakeError(-completion.Result);
        }

        if (!IsArmed)
        {
            Resume();
            connection.Progress();
        }
    }

    /// <summary>
    /// Submits a receive if one is wanted. Connections that wait for a receive buffer come first: newcomers would starve them.
    /// </summary>
    public void Resume()
    {
        if (!IsWanted)
        {
            return;
        }

        if (connection.Reactor.Loop.HasStarved)
        {
            WaitForBuffer();
        }
        else
        {
            Submit();
        }
    }

    public void RetryStarved()
    {
        IsStarved = false;
        if (IsWanted)
        {
            Submit();
        }
    }

    /// <summary>Ends the receive, for back-pressure.</summary>
    public void Pause()
    {
        if (IsArmed && !_isCancelled)
        {
            _isCancelled = true;
            connection.Backend.SubmitCancel(connection.Token(OperationKind.Receive));
        }
    }

    /// <summary>From now on input is discarded, up to a limit.</summary>
    public void BeginDiscard() => _discardBytesLeft = connection.Limits.LingerBytes;

    /// <summary>The socket's input has ended; filters may pass the end on later, or as a reset.</summary>
    public void EndInput(ReceiveEnd end)
    {
        if (End == ReceiveEnd.None || end == ReceiveEnd.Reset)
        {
            End = end;
            ReceiveEnd seen = connection.Filters.PassEnd(end);
            if (seen != ReceiveEnd.None)
            {
                connection.Reader.EndInput(seen);
            }
        }
    }

    public void Break() => End = ReceiveEnd.Reset;

    /// <summary>A filter that fails or a lack of memory ends this connection only.</summary>
    private unsafe void TakeBytesOrFail(byte* bytes, int count)
    {
        try
        {
            if (connection.Phase != ConnectionPhase.Serving)
            {
                Discard(count);
            }
            else if (connection.Filters.Outermost is { } filter)
            {
                filter.Receive(new ReadOnlySpan<byte>(bytes, count));
            }
            else
            {
                connection.Reader.Take(bytes, count);
            }
        }
#pragma warning disable CA1031 // A filter's exception must not reach the reactor's loop.
        catch (Exception error)
#pragma warning restore CA1031
        {
            connection.Reader.DropBorrowed();
            connection.Filters.Fail(error);
        }
    }

    /// <summary>
    /// Discards input that nothing reads any more. Beyond the limit, a peer that keeps sending is paused while it still takes the response,
    /// and reset afterwards.
    /// </summary>
    private void Discard(int count)
    {
        connection.Ending.IsLastRequest = false;
        _discardBytesLeft -= count;
        if (_discardBytesLeft >= 0)
        {
            return;
        }

        if (connection.Phase == ConnectionPhase.Flushing)
        {
            Pause();
        }
        else if (connection.Phase == ConnectionPhase.Lingering)
        {
            connection.Ending.BeginClose(withReset: true);
        }
    }

    private void TakeError(int errno)
    {
        // The lease is checked before the error: the other thread records its error before it returns the lease.
        bool isReset = errno == 0 && connection.DirectSender.EndHidesReset;
        errno = connection.DirectSender.WithError(errno);
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
                _isCancelled = false;
                break;
            case Errno.EINTR or Errno.EAGAIN:
                break;
            default:
                connection.Ending.NoteFault(errno);
                EndInput(ReceiveEnd.Reset);
                break;
        }
    }

    private void Submit()
    {
        Debug.Assert(!IsArmed && connection.IsOpen);
        IsArmed = true;
        _isCancelled = false;
        connection.OperationsInFlight++;
        // Some clients send one request only: a single-shot receive leaves nothing to cancel before the close.
        connection.Backend.SubmitReceive(connection.Token(OperationKind.Receive), connection.Descriptor, once: Bytes == 0);
    }

    private void WaitForBuffer()
    {
        if (!IsStarved)
        {
            IsStarved = true;
            connection.Reactor.Loop.QueueStarved(connection);
        }
    }
}
