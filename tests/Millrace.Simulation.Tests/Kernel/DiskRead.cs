using Millrace.Interop;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>A file read: of the real file, at a time of its own.</summary>
internal sealed class DiskRead(World world, SimulatedBackend kernel, Operation operation) : IScheduled
{
    /// <summary>What the kernel may leave in memory that is its own and that it did not say to have filled.</summary>
    private const byte Rubbish = 0xA7;

    /// <summary>Takes a moment, or as long as a disk takes that has a pause.</summary>
    public static void Begin(World world, SimulatedBackend kernel, Operation operation)
    {
        int takesMs = world.Latency();
        if (world.Strikes(FaultKind.SlowDisk, operation.Connection))
        {
            takesMs = world.Random.Pick<int>(500, 5_000, 20_000, 60_000);
            operation.Socket?.BeSlowFor(takesMs);
            world.Disk.BeSlowFor(takesMs);
        }

        world.EventQueue.In(takesMs, new DiskRead(world, kernel, operation), 0);
    }

    public void Act(int eventId)
    {
        if (operation.IsFinished || kernel.IsClosed)
        {
            return;
        }

        if (!operation.IsUntouched())
        {
            world.Fail(operation.Connection, "The destination of a file read was written to before the read.");
        }

        int result = Perform();
        operation.Seal();
        kernel.Post(operation, result);
    }

    private int Perform()
    {
        int connection = operation.Connection;
        if (world.Strikes(FaultKind.Interrupted, connection))
        {
            return -Errno.EINTR;
        }

        if (world.Strikes(FaultKind.TryAgain, connection))
        {
            return -Errno.EAGAIN;
        }

        Span<byte> destination = operation.Destination;
        bool isBroken = world.Strikes(FaultKind.DiskError, connection);
        if (isBroken || world.Strikes(FaultKind.NoMemory, connection))
        {
            operation.Socket?.Excuse();
            world.Disk.NoteFailure();
            destination[..world.Random.Below(destination.Length + 1)].Fill(Rubbish);
            return isBroken ? -Errno.EIO : -Errno.ENOMEM;
        }

        if (world.Strikes(FaultKind.ShortFileRead, connection))
        {
            destination[^1] = Rubbish;
            destination = destination[..world.Random.Between(1, destination.Length)];
        }

        return world.Disk.Read(operation.File, destination, operation.Offset);
    }
}
