using Millrace.Engine;
using Millrace.Engine.Backends;
using Millrace.Interop;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>
/// A completion for a connection whose slot has been given back, and perhaps let anew. No kernel should send one, and kernels have: it has
/// to be dropped by its generation, and its buffer given back.
/// </summary>
internal sealed unsafe class Straggler(World world, SimulatedBackend kernel, Reactor reactor, OperationToken token) : IScheduled
{
    private const byte Foreign = 0xEE;

    private int _attemptsLeft = 20;

    public void Act(int errand)
    {
        if (kernel.IsClosed)
        {
            return;
        }

        if (reactor.Connections.At(token.Slot).Generation != token.Generation)
        {
            kernel.PostStraggler(new Operation(token, null), Make());
        }
        else if (--_attemptsLeft > 0)
        {
            world.Agenda.In(world.Dice.Between(1, 20), this, 0);
        }
    }

    private Completion Make()
    {
        var completion = new Completion { Token = token };
        switch (token.Kind)
        {
            case OperationKind.Receive when world.Dice.Chance(500) && !kernel.Slab.IsEmpty:
                Span<byte> buffer = kernel.Slab.Lend(Trace.Nobody, out completion.BufferId);
                buffer.Fill(Foreign);
                completion.Data = kernel.Slab.AddressOf(completion.BufferId);
                completion.Result = world.Dice.Between(1, buffer.Length);
                completion.Flags = CompletionFlags.HasBuffer | (world.Dice.Chance(500) ? CompletionFlags.More : CompletionFlags.None);
                break;
            case OperationKind.Receive:
                completion.Result = world.Dice.Pick<int>(0, -Errno.ECONNRESET, -Errno.ECANCELED, -Errno.ENOBUFS);
                break;
            default:
                completion.Result = world.Dice.Pick<int>(1, 5_000, -Errno.ECANCELED, -Errno.EIO);
                break;
        }

        return completion;
    }
}
