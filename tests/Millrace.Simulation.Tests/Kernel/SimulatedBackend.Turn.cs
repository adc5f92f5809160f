using Millrace.Engine.Backends;
using Millrace.Interop;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <content>How the world moves on while the server waits.</content>
internal sealed unsafe partial class SimulatedBackend
{
    /// <summary>A server that turns so often in one millisecond, and moves no byte, waits for nothing.</summary>
    private const int IterationsPerMsMax = 20_000;

    /// <summary>Turns of a run that has failed, until it is given up.</summary>
    private const int LastIterationsMax = 5_000;

    public override ReadOnlySpan<Completion> Poll(long timeoutMs)
    {
        if (!_hasBegun)
        {
            _simulation.ReactorSequencer.Arrive(this);
            _hasBegun = true;
        }

        _simulation.OnIteration();
        TakeSubmitted();
        CountIteration();
        if (_world.HasFailed)
        {
            return LetGo();
        }

        if (timeoutMs != 0)
        {
            _simulation.Audit(this, _operations.ContainsKey);
        }

        if (timeoutMs != 0 && _world.Strikes(FaultKind.EnterInterrupted, Trace.Kernel))
        {
            return [];
        }

        _queue.MayOverflow();
        _untilMs = timeoutMs < 0 ? long.MaxValue : _world.NowMs + timeoutMs;
        _batch = _world.Random.Between(1, _completions.Length);
        _simulation.ReactorSequencer.Wait(this);
        _isWoken = false;
        return _world.HasFailed ? LetGo() : Deliver();
    }

    /// <summary>Held by whose turn it is not.</summary>
    public SemaphoreSlim Gate { get; } = new(0);

    /// <summary>Whether there is so much to take that the world need not go on first.</summary>
    public bool HasEnough => _queue.Count >= _batch && _queue.ReadyAtMs <= _world.NowMs;

    /// <summary>Whether its wait is over.</summary>
    public bool IsReady => !_hasBegun || _isWoken || ReadyAtMs <= _world.NowMs;

    /// <summary>When its wait is over, if nothing happens before.</summary>
    public long ReadyAtMs => Math.Min(_untilMs, _queue.ReadyAtMs);

    public override void Wake() => _isWoken = true;

    /// <summary>The enter: what was queued becomes the kernel's.</summary>
    private void TakeSubmitted()
    {
        if (_world.HasFailed)
        {
            // What is in flight is ended by LetGo, whether the kernel has seen it or not.
            _submitted.Clear();
            return;
        }

        foreach ((Operation? operation, OperationToken cancelTarget) in _submitted)
        {
            if (operation is null)
            {
                SimulatedSocket? socket = _operations.GetValueOrDefault(cancelTarget)?.Socket;
                _world.Trace.Note(socket?.Number ?? Trace.NoConnection, TraceEvent.Cancels, (long)cancelTarget.Kind);
                _world.EventQueue.In(_world.Latency(), new Cancellation(this, cancelTarget), 0);
            }
            else if (operation.IsRead)
            {
                DiskRead.Begin(_world, this, operation);
            }
            else if (operation.Kind == OperationKind.Accept)
            {
                (At(operation.Target) as SimulatedListener)?.Submit(operation);
            }
            else if (operation.Kind == OperationKind.Connect)
            {
                _simulation.Upstreams!.Connect(operation);
            }
            else if (At(operation.Target) == operation.Socket)
            {
                operation.Socket!.Submit(operation);
            }
            else
            {
                _world.Fail(operation.Connection, $"The descriptor of a {operation.Kind} was closed before the kernel had seen it.");
            }
        }

        _submitted.Clear();
    }

    private void CountIteration()
    {
        _iterationsOfThisMs = _lastIterationMs == _world.NowMs ? _iterationsOfThisMs + 1 : 0;
        _lastIterationMs = _world.NowMs;
        if (_iterationsOfThisMs > IterationsPerMsMax)
        {
            _world.Fail(Trace.NoConnection, "The reactor spins: it turns and turns, and time stands still.");
        }
    }

    private ReadOnlySpan<Completion> Deliver()
    {
        int count = 0;
        if (_queue.Count > 0)
        {
            _simulation.ReactorSequencer.NoteDelivery();
        }

        while (count < _completions.Length && _queue.ReadyAtMs <= _world.NowMs)
        {
            (Operation operation, Completion completion) = _queue.Take();
            _world.Trace.Note(operation.Connection, TraceEvent.Completes, (long)operation.Kind, completion.Result);
            if (completion.IsTerminal)
            {
                Retire(operation);
            }

            if (operation.Kind == OperationKind.Receive && completion.Result > 0)
            {
                operation.Socket?.OnDelivered(completion.Result);
            }

            // Bytes that move are work, however much of it there is in a moment.
            _iterationsOfThisMs = completion.Result > 0 ? 0 : _iterationsOfThisMs;
            _completions[count++] = completion;
        }

        return _completions.AsSpan(0, count);
    }

    /// <summary>The operation's memory goes back to the server, as it was lent.</summary>
    private void Retire(Operation operation)
    {
        if (_operations.GetValueOrDefault(operation.Token) != operation)
        {
            return;
        }

        _operations.Remove(operation.Token);
        if (operation.Socket is not null)
        {
            operation.Socket.OperationsInFlight--;
            if (operation.Kind == OperationKind.Send)
            {
                operation.Socket.OnSendReturned(operation);
            }
        }

        if (!operation.IsUntouched())
        {
            _world.Fail(operation.Connection, $"The memory of a {operation.Kind} was changed while it was the kernel's.");
        }
    }

    /// <summary>A run that has failed ends fast: everything is cancelled, and nothing is looked at any more.</summary>
    private ReadOnlySpan<Completion> LetGo()
    {
        _simulation.StopAfterFailure();
        if (++_lastIterations > LastIterationsMax)
        {
            _simulation.HoldForGood("after it failed");
        }

        _world.EventQueue.AdvanceTo(_world.NowMs + 10);
        Completion[] all = [.. _operations.Keys.Select(static token => new Completion { Token = token, Result = -Errno.ECANCELED })];
        _operations.Clear();
        return all;
    }
}
