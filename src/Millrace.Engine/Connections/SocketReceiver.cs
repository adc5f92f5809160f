using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
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
    /// <summary>
    /// One call that receives what a buffer of the backend had no room for. With what is made of it, it stays in a core's cache.
    /// </summary>
    private const int RestBytes = 128 * 1024;

    /// <summary>An upstream that has sent more than a buffer holds does so again soon.</summary>
    private const int SingleShotsAfterFull = 64;

    /// <summary>Whether calls receive the rest of the input, in this iteration or the next: no receive is submitted before.</summary>
    private bool _isRestDue;

    /// <summary>
    /// How many receives are single-shot: the rest of what an upstream sends can be received by calls only while no receive is submitted.
    /// A multishot receive costs less where responses are short.
    /// </summary>
    private int _singleShots;

    private Action? _receivePostponedRest;
    private InputMover? _mover;
    private bool _isCancelled;
    private int _discardBytesLeft;

    public bool IsArmed { get; private set; }

    /// <summary>Says what of the input goes to another connection as it is. Null if the handler gets all.</summary>
    public IInputRelay? Relay
    {
        set => _mover = value is null ? null : new InputMover(connection, value);
    }

    /// <summary>Whether the connection waits in the reactor's queue for a receive buffer.</summary>
    public bool IsStarved { get; private set; }

    /// <summary>Bytes received; after a filter was removed, those that came after it.</summary>
    public long Bytes { get; set; }

    public ReceiveEnd End { get; private set; }

    /// <summary>Whether the peer has sent something for the handler; bytes that only filters have seen do not count.</summary>
    public bool HasReceived => connection.Filters.IsEmpty ? Bytes > 0 : connection.Filters.HasPassedInput;

    private bool IsWanted => !_isRestDue && CanReceive;

    private bool CanReceive =>
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
        _isCancelled = IsStarved = _isRestDue = false;
        Bytes = _discardBytesLeft = _singleShots = 0;
        _mover = null;
        End = ReceiveEnd.None;
    }

    public unsafe void OnReceived(in Completion completion)
    {
        if (completion.IsTerminal)
        {
            IsArmed = false;
            connection.OperationsInFlight--;
        }

        bool isFull = connection.Listener.IsOutbound && completion.Result == connection.Backend.ReceiveBufferBytes;
        _singleShots = isFull ? SingleShotsAfterFull : Math.Max(0, _singleShots - 1);
        if (isFull && !IsArmed)
        {
            TakeWithRest(completion.Data, completion.Result);
        }
        else
        {
            TakeResult(completion.Data, completion.Result);
            if (isFull)
            {
                Pause();
            }
        }

        if (!connection.Filters.IsEmpty && !connection.Reactor.Budget.IsPhaseOver)
        {
            // The handler's bytes are still in the cache; at the end of the iteration those of all connections are not.
            connection.Writer.SendFlushedNow();
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

    private unsafe void TakeResult(byte* bytes, int result, bool isDelivered = true)
    {
        if (result > 0)
        {
            Bytes += result;
            connection.Reactor.Counters.BytesReceived += result;
            TakeBytesOrFail(bytes, result, isDelivered);
        }
        else
        {
            TakeError(-result);
        }
    }

    private unsafe void TakeWithRest(byte* bytes, int count)
    {
        _isRestDue = true;
        if (connection.Reactor.Budget.IsPhaseOver)
        {
            // The handler gets the first part with the rest, so that both are sent on together.
            TakeResult(bytes, count, isDelivered: false);
            connection.Reactor.Loop.Postpone(_receivePostponedRest ??= ReceivePostponedRest);
        }
        else
        {
            int flushesBefore = connection.Reactor.Loop.FlushesQueued;
            TakeResult(bytes, count);
            ReceiveRest(flushesBefore);
        }
    }

    private void ReceivePostponedRest()
    {
        if (_isRestDue)
        {
            // Else the connection that postponed it is gone.
            int flushesBefore = connection.Reactor.Loop.FlushesQueued;
            connection.Reader.DeliverKept();
            ReceiveRest(flushesBefore);
            Resume();
            connection.Progress();
        }
    }

    /// <summary>
    /// Receives by calls what else the socket has, and sends on at once what has been made of it: a response of 100 KB is then copied
    /// twice within the cache. Only for peers that this side has connected to, from which more is received than from clients.
    /// </summary>
    /// <param name="flushesBefore">Flushes that were queued before the first part was taken.</param>
    private unsafe void ReceiveRest(int flushesBefore)
    {
        BlockPools pools = connection.Reactor.Pools;
        // A handler that is behind keeps what a call receives: all fits into the block that the high-water mark needs anyway.
        int blockBytes = BlockPools.BlockBytesOf(connection.Limits.InputHighWaterBytes + connection.Backend.ReceiveBufferBytes);
        bool mayHaveMore = true;
        while (mayHaveMore && CanReceive && connection.Reader.Count < blockBytes && pools.TryRent(RestBytes, out Block buffer))
        {
            int most = Math.Min(RestBytes, blockBytes - connection.Reader.Count);
            if (!TryMove(buffer, most, flushesBefore))
            {
                int received = connection.Backend.ReceiveNow(connection.Descriptor, buffer.Address, most);
                TakeResult(buffer.Address, received);
                mayHaveMore = received == most;
            }

            pools.Return(buffer);
            mayHaveMore &= !connection.Reactor.Budget.IsPhaseOver;
        }

        connection.Reactor.Loop.SendAtOnce(flushesBefore);
        _isRestDue = false;
    }

    /// <summary>Moves input to another connection, if it goes there unchanged. The handler's wait ends as by input.</summary>
    private unsafe bool TryMove(Block rest, int most, int flushesBefore)
    {
        if (_mover is null || !_mover.MayMove || !connection.Filters.IsEmpty || !connection.Reader.IsWaiting)
        {
            return false;
        }

        // What was written before goes first. A destination that fails in that, or by what it gets here, can end this connection too.
        uint generation = connection.Generation;
        connection.Reactor.Loop.SendAtOnce(flushesBefore);
        if (HasEnded())
        {
            return true;
        }

        int taken = _mover.Move(most, rest.Address, out int restBytes);
        if (HasEnded())
        {
            return true;
        }

        if (taken is 0 or -Errno.EAGAIN)
        {
            // The receive that follows finds the same.
            return false;
        }

        if (taken < 0)
        {
            TakeError(-taken);
            return true;
        }

        Bytes += taken - restBytes;
        connection.Reactor.Counters.BytesReceived += taken - restBytes;
        if (restBytes > 0)
        {
            TakeResult(rest.Address, restBytes);
        }
        else
        {
            connection.Reader.TryEndWait(ReadOutcome.Data);
        }

        return true;

        bool HasEnded() => connection.Generation != generation || connection.Phase != ConnectionPhase.Serving;
    }

    /// <summary>A filter that fails or a lack of memory ends this connection only.</summary>
    private unsafe void TakeBytesOrFail(byte* bytes, int count, bool isDelivered)
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
            else if (isDelivered)
            {
                connection.Reader.Take(bytes, count);
            }
            else
            {
                connection.Reader.Keep(bytes, count);
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
        bool isOnce = Bytes == 0 || _singleShots > 0;
        connection.Backend.SubmitReceive(connection.Token(OperationKind.Receive), connection.Descriptor, isOnce);
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
