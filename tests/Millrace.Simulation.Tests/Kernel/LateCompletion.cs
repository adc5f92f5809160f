using Millrace.Engine;
using Millrace.Engine.Backends;
using Millrace.Interop;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>
/// A completion for a connection whose slot has been given back, and perhaps let again. No kernel should send one, and kernels have: it has
/// to be dropped by its generation, and its buffer given back.
/// </summary>
internal sealed unsafe class LateCompletion(World world, SimulatedBackend kernel, Reactor reactor, OperationToken token) : IScheduled
{
    private const byte Foreign = 0xEE;

    private int _attemptsLeft = 20;

    public void Act(int eventId)
    {
        if (kernel.IsClosed)
        {
            return;
        }

        if (reactor.Connections.At(token.Slot).Generation != token.Generation)
        {
            kernel.PostLateCompletion(new Operation(token, null), Make());
        }
        else if (--_attemptsLeft > 0)
        {
            world.EventQueue.In(world.Random.Between(1, 20), this, 0);
        }
    }

    private Completion Make()
    {
        var completion = new Completion { Token = token };
        switch (token.Kind)
        {
            case OperationKind.Receive when world.Random.Chance(500) && !kernel.Slab.IsEmpty:
                Span<byte> buffer = kernel.Slab.Lend(Trace.NoConnection, out completion.BufferId);
                buffer.Fill(Foreign);
                completion.Data = kernel.Slab.AddressOf(completion.BufferId);
                completion.Result = world.Random.Between(1, buffer.Length);
                completion.Flags = CompletionFlags.HasBuffer | (world.Random.Chance(500) ? CompletionFlags.More : CompletionFlags.None);
                break;
            case OperationKind.Receive:
                completion.Result = world.Random.Pick<int>(0, -Errno.ECONNRESET, -Errno.ECANCELED, -Errno.ENOBUFS);
                break;
            default:
                completion.Result = world.Random.Pick<int>(1, 5_000, -Errno.ECANCELED, -Errno.EIO);
                break;
        }

        return completion;
    }
}
