using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Loop;

namespace Millrace.Engine;

/// <content>Input as the handler sees it: received bytes, and the waits for them.</content>
public sealed partial class Connection
{
    private readonly ReactorSignal<ReadOutcome> _read = new();
    private InputBuffer _input;

    /// <summary>How the socket's input ended.</summary>
    private ReceiveEnd _receiveEnd;

    /// <summary>How the handler's input ended: with the socket's, or earlier where a filter has an end of its own.</summary>
    private ReceiveEnd _inputEnd;
    private bool _readIsIdle;
    private int _seen;

    /// <summary>
    /// The received bytes that were not consumed, contiguous. Valid until the handler's next await or <see cref="Consume"/>: read it again
    /// after either.
    /// </summary>
    public ReadOnlySpan<byte> Input
    {
        get
        {
            Reactor.AssertReactorThread();
            AssertServing();
            return _input.Bytes;
        }
    }

    /// <summary>Whether a handler has consumed any of this peer's bytes: otherwise <see cref="Input"/> holds the first ones.</summary>
    internal bool HasConsumed { get; private set; }

    /// <summary>
    /// Waits until <see cref="Input"/> holds bytes that it did not hold when the last wait ended; completes at once if it does already. One
    /// wait at a time.
    /// </summary>
    /// <exception cref="InvalidOperationException">Another wait is pending, or the caller is not on the reactor's thread.</exception>
    public ValueTask<ReadOutcome> ReadAsync() => BeginRead(idle: false);

    /// <summary>
    /// As <see cref="ReadAsync"/>, for the pause between two requests: with <see cref="Input"/> empty it also ends with
    /// <see cref="ReadOutcome.Draining"/> when the group stops.
    /// </summary>
    public ValueTask<ReadOutcome> ReadIdleAsync() => BeginRead(idle: true);

    /// <summary>
    /// After the end of the handler's input: waits for the end of the socket's. A filter can report an end before the socket does, for a
    /// peer that still receives.
    /// </summary>
    internal ValueTask<ReadOutcome> ReadPeersEndAsync()
    {
        Reactor.AssertReactorThread();
        AssertServing();
        if (_receiveEnd != ReceiveEnd.None || _inputEnd != ReceiveEnd.Finished || Phase != ConnectionPhase.Serving)
        {
            return new ValueTask<ReadOutcome>(_receiveEnd == ReceiveEnd.Reset ? ReadOutcome.Reset : ReadOutcome.End);
        }

        _readIsIdle = false;
        ValueTask<ReadOutcome> read = _read.Begin();
        ResumeReceive();
        return read;
    }

    /// <summary>Drops bytes from the front of <see cref="Input"/>.</summary>
    public void Consume(int count)
    {
        Reactor.AssertReactorThread();
        AssertServing();
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, _input.Count);
        HasConsumed = true;
        _input.Consume(count, Pools);
        NoteInput();
        _seen = Math.Max(0, _seen - count);
        if (_input.Count <= Limits.InputHighWaterBytes / 2)
        {
            ResumeReceive();
        }
    }

    /// <summary>
    /// The group stops: waits for a next request end. The first request of a new connection may be in the kernel already, so that
    /// connection gets <see cref="FirstRequestMs"/>.
    /// </summary>
    internal void OnDrain()
    {
        if (IsWaitingIdle)
        {
            DrainIdle();
            return;
        }

        if (!_read.IsPending || !_readIsIdle || _input.Count > 0)
        {
            return;
        }

        if (HasReceived)
        {
            EndIdle();
        }
        else
        {
            SetFirstRequestDeadline();
        }
    }

    /// <summary>Accepts bytes for the handler from the innermost filter.</summary>
    internal unsafe void AcceptInput(ReadOnlySpan<byte> bytes)
    {
        // A filter passes its bytes in several pieces, and any of them may have ended the handler or freed the slot.
        if (Phase != ConnectionPhase.Serving)
        {
            return;
        }

        _hasPassedFilters = true;
        fixed (byte* first = bytes)
        {
            ShowInput(first, bytes.Length);
        }
    }

    /// <summary>
    /// Gives the handler bytes that are valid only for the call. A waiting handler reads them in place; what it leaves is copied to the
    /// connection's own memory.
    /// </summary>
    private unsafe void ShowInput(byte* bytes, int count)
    {
        bool mayBorrow = _input.Count == 0 && !_input.IsHeld;
        if (mayBorrow && _read.IsPending)
        {
            _input.Borrow(bytes, count);
            EndReadWithData();
            _input.Settle(Pools, this);
            NoteInput();
        }
        else if (mayBorrow && IsWaitingIdle)
        {
            _input.Borrow(bytes, count);
            Resume();
            _input.Settle(Pools, this);
            NoteInput();
        }
        else
        {
            AppendInput(new ReadOnlySpan<byte>(bytes, count));
        }
    }

    private void AppendInput(ReadOnlySpan<byte> bytes)
    {
        _input.Append(bytes, Pools, this);
        NoteInput();
        if (IsWaitingIdle)
        {
            Resume();
        }
        else
        {
            EndReadWithData();
        }

        PauseReceiveIfFull();
    }

    private void OpenInput()
    {
        _inputEnd = _receiveEnd = ReceiveEnd.None;
        _isStarved = false;
        _receivedBytes = 0;
        _seen = 0;
        _idleState = IdleState.None;
        HasConsumed = false;
    }

    private ValueTask<ReadOutcome> BeginRead(bool idle)
    {
        Reactor.AssertReactorThread();
        AssertServing();
        if (_read.IsPending)
        {
            throw new InvalidOperationException("A wait for input is pending on this connection; await it before the next.");
        }

        if (HasUnseenInput)
        {
            MarkSeen();
            return new ValueTask<ReadOutcome>(ReadOutcome.Data);
        }

        if (_inputEnd != ReceiveEnd.None)
        {
            return new ValueTask<ReadOutcome>(_inputEnd == ReceiveEnd.Finished ? ReadOutcome.End : ReadOutcome.Reset);
        }

        if (idle && Reactor.IsDraining && _input.Count == 0)
        {
            if (HasReceived)
            {
                NoteIdleEnd();
                return new ValueTask<ReadOutcome>(ReadOutcome.Draining);
            }

            SetFirstRequestDeadline();
        }

        // A read within a request has no first-request deadline.
        _firstRequestDeadlineMs = idle ? _firstRequestDeadlineMs : long.MaxValue;
        _readIsIdle = idle;
        WakeAt(Math.Min(_readDeadlineMs, _readCheckMs));
        ValueTask<ReadOutcome> read = _read.Begin();
        ResumeReceive();
        return read;
    }

    private void DiscardInput()
    {
        _input.Release(Pools);
        _input.Clear(Pools);
        NoteInput();
        _seen = 0;
    }

    private void EndInput(ReceiveEnd end)
    {
        if (_receiveEnd == ReceiveEnd.None || end == ReceiveEnd.Reset)
        {
            _receiveEnd = end;
            ReceiveEnd seen = _outermostFilter is null ? end : PassEnd(_outermostFilter, end);
            if (seen != ReceiveEnd.None)
            {
                EndHandlersInput(seen);
            }
        }
    }

    private void EndHandlersInput(ReceiveEnd end)
    {
        _inputEnd = end;
        if (_read.IsPending)
        {
            _read.Complete(_inputEnd == ReceiveEnd.Finished ? ReadOutcome.End : ReadOutcome.Reset);
        }
        else if (IsWaitingIdle)
        {
            LeaveIdle();
        }
    }

    /// <summary>No more input. Ends a wait that a returned handler left, which the slot's next connection would inherit.</summary>
    private void BreakInput()
    {
        if (_inputEnd == ReceiveEnd.None)
        {
            _receiveEnd = _inputEnd = ReceiveEnd.Reset;
        }

        if (_read.IsPending)
        {
            _read.Complete(ReadOutcome.Reset);
        }
    }

    private void EndReadWithData()
    {
        if (_read.IsPending && HasUnseenInput)
        {
            MarkSeen();
            _read.Complete(ReadOutcome.Data);
        }
    }
}
