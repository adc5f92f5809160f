using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Scheduling;

namespace Millrace.Engine;

/// <content>Input as the handler sees it: bytes that were received, and the waits for them.</content>
public sealed partial class Connection
{
    private readonly Signal<ReadOutcome> _read = new();
    private InputBuffer _input;

    /// <summary>How what comes from the socket ended.</summary>
    private ReceiveEnd _receiveEnd;

    /// <summary>How the handler's input ended: as that, or before it, where a stage knows an end of its own.</summary>
    private ReceiveEnd _inputEnd;
    private bool _readIsIdle;
    private int _seen;

    /// <summary>
    /// The bytes received and not consumed, contiguous. Valid until the handler's next await, <see cref="Consume"/> included:
    /// ask again after it.
    /// </summary>
    public ReadOnlySpan<byte> Input
    {
        get
        {
            Reactor.AssertHome();
            AssertTenant();
            return _input.Bytes;
        }
    }

    /// <summary>Whether a handler has taken anything of what this peer sent: otherwise <see cref="Input"/> is its first bytes.</summary>
    internal bool HasConsumed { get; private set; }

    /// <summary>
    /// Waits until <see cref="Input"/> holds bytes that were not in it when the last wait ended, at once if it does already.
    /// One wait at a time.
    /// </summary>
    /// <exception cref="InvalidOperationException">Another wait is pending, or the caller is not on the reactor's thread.</exception>
    public ValueTask<ReadOutcome> ReadAsync() => BeginRead(idle: false);

    /// <summary>
    /// As <see cref="ReadAsync"/>, for the pause between two requests: with <see cref="Input"/> empty it also ends with
    /// <see cref="ReadOutcome.Draining"/> when the group stops.
    /// </summary>
    public ValueTask<ReadOutcome> ReadIdleAsync() => BeginRead(idle: true);

    /// <summary>
    /// When the input has ended: waits until the socket's has, too. A stage can know of an end before the socket does, of a peer that goes
    /// on to receive.
    /// </summary>
    internal ValueTask<ReadOutcome> ReadPeersEndAsync()
    {
        Reactor.AssertHome();
        AssertTenant();
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
        Reactor.AssertHome();
        AssertTenant();
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, _input.Count);
        HasConsumed = true;
        _input.Consume(count, Pools);
        _seen = Math.Max(0, _seen - count);
        if (_input.Count <= Limits.InputHighWaterBytes / 2)
        {
            ResumeReceive();
        }
    }

    /// <summary>
    /// The group stops: who only waits for a next request need not. The first request of a new connection may be in the kernel
    /// already, so that one gets a moment.
    /// </summary>
    internal void OnDrain()
    {
        if (IsResting)
        {
            DrainRest();
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

    /// <summary>Bytes for the handler, from the innermost stage.</summary>
    internal unsafe void AcceptInput(ReadOnlySpan<byte> bytes)
    {
        // A stage hands in what it has in several pieces, and any of them may have ended the handler, or the slot's tenancy.
        if (Phase != ConnectionPhase.Serving)
        {
            return;
        }

        _hasPassedStages = true;
        fixed (byte* first = bytes)
        {
            ShowInput(first, bytes.Length);
        }
    }

    /// <summary>
    /// Bytes for the handler, which last for the call only. It reads them where they lie, if it waits for them; what it leaves moves to
    /// memory of ours.
    /// </summary>
    private unsafe void ShowInput(byte* bytes, int count)
    {
        bool mayBorrow = _input.Count == 0 && !_input.IsHeld;
        if (mayBorrow && _read.IsPending)
        {
            _input.Borrow(bytes, count);
            EndReadWithData();
            _input.Settle(Pools);
        }
        else if (mayBorrow && IsResting)
        {
            _input.Borrow(bytes, count);
            Resume();
            _input.Settle(Pools);
        }
        else
        {
            AppendInput(new ReadOnlySpan<byte>(bytes, count));
        }
    }

    private void AppendInput(ReadOnlySpan<byte> bytes)
    {
        _input.Append(bytes, Pools);
        if (IsResting)
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
        _receiveParked = false;
        _receivedBytes = 0;
        _seen = 0;
        _rest = RestState.None;
        HasConsumed = false;
    }

    private ValueTask<ReadOutcome> BeginRead(bool idle)
    {
        Reactor.AssertHome();
        AssertTenant();
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

        // Who reads on within a request has one.
        _firstRequestDeadlineMs = idle ? _firstRequestDeadlineMs : long.MaxValue;
        _readIsIdle = idle;
        WakeAt(Math.Min(_readDeadlineMs, _readLookMs));
        ValueTask<ReadOutcome> read = _read.Begin();
        ResumeReceive();
        return read;
    }

    private void DiscardInput()
    {
        _input.Release(Pools);
        _input.Clear(Pools);
        _seen = 0;
    }

    private void EndInput(ReceiveEnd end)
    {
        if (_receiveEnd == ReceiveEnd.None || end == ReceiveEnd.Reset)
        {
            _receiveEnd = end;
            ReceiveEnd seen = _outermostStage is null ? end : PassEnd(_outermostStage, end);
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
        else if (IsResting)
        {
            EndRest();
        }
    }

    /// <summary>Nothing comes any more. A wait that a returned handler left ends here, or the slot's next tenant would have it.</summary>
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
