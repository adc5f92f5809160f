using Millrace.Engine.Backends;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>
/// Completions on their way to the reactor. They may be late and overtake each other, but those of one operation stay in order,
/// as the kernel keeps them. The last receive buffer is not kept back: nobody would get on.
/// </summary>
internal sealed class CompletionQueue(World world, ReceiveSlab slab)
{
    private readonly List<(Operation Operation, Completion Completion)> _ready = [];
    private long _heldUntilMs;
    private long _nextHoldAtMs;

    public int Count => _ready.Count;

    /// <summary>When there is something to take; <see cref="long.MaxValue"/> when nothing is there.</summary>
    public long ReadyAtMs => _ready.Count == 0 ? long.MaxValue : Math.Max(_heldUntilMs, world.NowMs);

    /// <summary>Receive buffers that wait here for the reactor to come.</summary>
    public int BuffersWaiting => _ready.Count(static waiting => waiting.Completion.HasBuffer);

    /// <summary>Without any delay but the reactor's own.</summary>
    public void PostNow(Operation operation, in Completion completion) => _ready.Add((operation, completion));

    public void Post(Operation operation, in Completion completion)
    {
        operation.IsFinished |= completion.IsTerminal;
        if (operation.Held is { Count: > 0 })
        {
            operation.Held.Enqueue(completion);
        }
        else if (world.Strikes(FaultKind.Delayed, operation.Connection) && !(completion.HasBuffer && slab.IsEmpty))
        {
            (operation.Held ??= new Queue<Completion>()).Enqueue(completion);
            world.EventQueue.In(world.Random.Between(1, world.Shape.DelayMs), new Release(this, operation), 0);
        }
        else
        {
            _ready.Add((operation, completion));
        }
    }

    /// <summary>The reactor does not come to take for a while, and the kernel queues up what overflows.</summary>
    public void MayOverflow()
    {
        if (_nextHoldAtMs <= world.NowMs && world.Strikes(FaultKind.Overflowed, Trace.NoConnection))
        {
            int holdMs = world.Random.Between(1, world.Shape.HoldMs);
            _heldUntilMs = world.NowMs + holdMs;

            // Seldom enough that a reactor that is held up again and again still comes forward.
            _nextHoldAtMs = _heldUntilMs + (10 * holdMs);
        }
    }

    public (Operation Operation, Completion Completion) Take()
    {
        int index = 0;
        if (_ready.Count > 1 && world.Strikes(FaultKind.Reordered, Trace.Kernel))
        {
            index = world.Random.Below(_ready.Count);
            OperationToken token = _ready[index].Completion.Token;
            index = _ready.FindIndex(other => other.Completion.Token == token);
        }

        (Operation, Completion) taken = _ready[index];
        _ready.RemoveAt(index);
        return taken;
    }

    private sealed class Release(CompletionQueue queue, Operation operation) : IScheduled
    {
        public void Act(int eventId)
        {
            while (operation.Held!.TryDequeue(out Completion completion))
            {
                queue._ready.Add((operation, completion));
            }
        }
    }
}
