using System.Diagnostics;
using Millrace.Engine.Buffers;
using Millrace.Engine.Loop;

namespace Millrace.Engine.Connections;

/// <summary>A connection's input as its handler sees it: received bytes, and the waits for them. Reactor thread.</summary>
internal sealed class InputReader(Connection connection)
{
    private readonly ReactorSignal<ReadOutcome> _wait = new();
    private InputBuffer _buffer;
    private int _chargedBytes;
    private bool _isIdleWait;

    /// <summary>The buffer itself, for pipes, which show its memory.</summary>
    public ref InputBuffer Buffer => ref _buffer;

    public int Count => _buffer.Count;

    /// <summary>How the handler's input ended: with the socket's, or earlier where a filter has an end of its own.</summary>
    public ReceiveEnd End { get; private set; }

    public bool HasConsumed { get; private set; }

    /// <summary>How much of the input the handler has seen; a wait is for more.</summary>
    public int SeenBytes { get; set; }

    public bool HasUnseen => _buffer.Count > SeenBytes;

    public bool IsWaiting => _wait.IsPending;

    /// <summary>Whether the handler waits, or is to be run for the next input.</summary>
    public bool IsWaitingOrIdle => _wait.IsPending || connection.Handler.IsIdle;

    /// <summary>Whether the handler is behind. One that waits for more has seen all input and is not.</summary>
    public bool IsFull => _buffer.Count >= connection.Limits.InputHighWaterBytes && !_wait.IsPending;

    /// <summary>Whether this is a pause between two requests: no byte of the next one has arrived.</summary>
    public bool IsBetweenRequests => connection.Handler.IsIdle || (_wait.IsPending && _isIdleWait && _buffer.Count == 0);

    /// <summary>Called when the input ends while the handler does not wait for it.</summary>
    public Action? EndObserved { get; set; }

    public void Reset()
    {
        EndObserved = null;
        End = ReceiveEnd.None;
        SeenBytes = 0;
        HasConsumed = false;
    }

    public ValueTask<ReadOutcome> ReadAsync(bool idle)
    {
        connection.AssertUsable();
        if (_wait.IsPending)
        {
            throw new InvalidOperationException("A wait for input is pending on this connection; await it before the next.");
        }

        if (HasUnseen)
        {
            MarkSeen();
            return new ValueTask<ReadOutcome>(ReadOutcome.Data);
        }

        if (End != ReceiveEnd.None)
        {
            return new ValueTask<ReadOutcome>(OutcomeOf(End));
        }

        if (idle && connection.Reactor.IsDraining && _buffer.Count == 0)
        {
            if (connection.Receiver.HasReceived)
            {
                connection.Ending.NoteIdleEnd();
                return new ValueTask<ReadOutcome>(ReadOutcome.Draining);
            }

            connection.Timers.SetFirstRequestDeadline();
        }

        connection.Timers.BeginRead(idle);
        return WaitAsync(idle);
    }

    /// <summary>Tells whether a handler that waits for input is between two requests, where that changed while it waits.</summary>
    public void SetIdle(bool idle) => _isIdleWait = idle;

    /// <summary>
    /// After the end of the handler's input: waits for the end of the socket's. A filter can report an end before the socket does, for a
    /// peer that still receives.
    /// </summary>
    public ValueTask<ReadOutcome> ReadPeersEndAsync()
    {
        connection.AssertUsable();
        return connection.Receiver.End == ReceiveEnd.None && End == ReceiveEnd.Finished && connection.Phase == ConnectionPhase.Serving
            ? WaitAsync(idle: false)
            : new ValueTask<ReadOutcome>(connection.Receiver.End == ReceiveEnd.Reset ? ReadOutcome.Reset : ReadOutcome.End);
    }

    /// <summary>After the end of the input, which nothing can follow: waits for the read deadline, or the end of the connection.</summary>
    public ValueTask<ReadOutcome> WaitForDeadlineAsync()
    {
        connection.AssertUsable();
        Debug.Assert(End != ReceiveEnd.None && !_wait.IsPending);
        connection.Timers.BeginRead(idle: false);
        return WaitAsync(idle: false);
    }

    public void Consume(int count)
    {
        connection.AssertUsable();
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, _buffer.Count);
        HasConsumed = true;
        _buffer.Consume(count, connection.Reactor.Pools);
        ChargeBuffer();
        SeenBytes = Math.Max(0, SeenBytes - count);
        if (_buffer.Count <= connection.Limits.InputHighWaterBytes / 2)
        {
            connection.Receiver.Resume();
        }
    }

    /// <summary>Releases the input shown to a pipe's reader.</summary>
    public void Advance(int consumed, int examined)
    {
        connection.AssertUsable();
        _buffer.Release(connection.Reactor.Pools);
        SeenBytes = examined;
        Consume(consumed);
    }

    /// <summary>Moves borrowed input to the connection's own memory: a pipe's reader may use it across awaits.</summary>
    public void Own()
    {
        _buffer.Settle(connection.Reactor.Pools, connection);
        ChargeBuffer();
    }

    public void MarkSeen() => SeenBytes = _buffer.Count;

    /// <summary>Accepts bytes for the handler from the innermost filter.</summary>
    public unsafe void TakeFromFilter(ReadOnlySpan<byte> bytes)
    {
        // A filter passes its bytes in several pieces, and any of them may have ended the handler or freed the slot.
        if (connection.Phase != ConnectionPhase.Serving)
        {
            return;
        }

        connection.Filters.HasPassedInput = true;
        fixed (byte* first = bytes)
        {
            Take(first, bytes.Length);
        }
    }

    /// <summary>
    /// Gives the handler bytes that are valid only for the call. A waiting handler reads them in place; what it leaves is copied to the
    /// connection's own memory.
    /// </summary>
    public unsafe void Take(byte* bytes, int count)
    {
        if (_buffer.Count == 0 && !_buffer.IsHeld && IsWaitingOrIdle)
        {
            _buffer.Borrow(bytes, count);
            Deliver();
            Own();
            return;
        }

        Keep(bytes, count);
        Deliver();
        if (IsFull)
        {
            connection.Receiver.Pause();
        }
    }

    /// <summary>Copies bytes to the connection's own memory, for <see cref="DeliverKept"/>.</summary>
    public unsafe void Keep(byte* bytes, int count)
    {
        _buffer.Append(new ReadOnlySpan<byte>(bytes, count), connection.Reactor.Pools, connection);
        ChargeBuffer();
    }

    public void DeliverKept()
    {
        if (_buffer.Count > 0)
        {
            Deliver();
        }
    }

    /// <summary>The connection is given up: its input is not read in place any more.</summary>
    public void DropBorrowed() => _buffer.DropBorrowed();

    public void Discard()
    {
        _buffer.Release(connection.Reactor.Pools);
        _buffer.Clear(connection.Reactor.Pools);
        ChargeBuffer();
        SeenBytes = 0;
    }

    public void EndInput(ReceiveEnd end)
    {
        End = end;
        if (_wait.IsPending)
        {
            _wait.Complete(OutcomeOf(end));
        }
        else if (connection.Handler.IsIdle)
        {
            connection.Handler.LeaveIdle();
        }
        else
        {
            EndObserved?.Invoke();
        }
    }

    public void TryEndWait(ReadOutcome outcome)
    {
        if (_wait.IsPending)
        {
            _wait.Complete(outcome);
        }
    }

    public void TimeOut()
    {
        if (connection.Handler.IsIdle)
        {
            connection.Handler.LeaveIdle();
        }
        else
        {
            _wait.Complete(ReadOutcome.TimedOut);
        }
    }

    /// <summary>
    /// The group stops: the pause between two requests ends. The first request of a new connection may be in the kernel already, so that
    /// connection gets a moment.
    /// </summary>
    public void OnDrain()
    {
        if (!IsBetweenRequests)
        {
            return;
        }

        if (connection.Receiver.HasReceived)
        {
            EndPause();
        }
        else
        {
            connection.Timers.SetFirstRequestDeadline();
        }
    }

    /// <summary>The group stops, and no request has arrived.</summary>
    public void EndPause()
    {
        connection.Ending.NoteIdleEnd();
        if (connection.Handler.IsIdle)
        {
            connection.Handler.LeaveIdle();
        }
        else
        {
            _wait.Complete(ReadOutcome.Draining);
        }
    }

    /// <summary>The socket is closed. Ends a wait that a returned handler left, which the slot's next connection would inherit.</summary>
    public void Break()
    {
        if (End == ReceiveEnd.None)
        {
            End = ReceiveEnd.Reset;
            connection.Receiver.Break();
        }

        TryEndWait(ReadOutcome.Reset);
        EndObserved?.Invoke();
    }

    private static ReadOutcome OutcomeOf(ReceiveEnd end) => end == ReceiveEnd.Finished ? ReadOutcome.End : ReadOutcome.Reset;

    private ValueTask<ReadOutcome> WaitAsync(bool idle)
    {
        _isIdleWait = idle;
        ValueTask<ReadOutcome> wait = _wait.Begin();
        connection.Receiver.Resume();
        return wait;
    }

    private void Deliver()
    {
        if (connection.Handler.IsIdle)
        {
            connection.Handler.Resume();
        }
        else if (_wait.IsPending && HasUnseen)
        {
            MarkSeen();
            _wait.Complete(ReadOutcome.Data);
        }
    }

    private void ChargeBuffer()
    {
        int bytes = _buffer.HeldBytes;
        if (bytes != _chargedBytes)
        {
            connection.Holdings.ChargeBlocks(bytes - _chargedBytes);
            _chargedBytes = bytes;
        }
    }
}
