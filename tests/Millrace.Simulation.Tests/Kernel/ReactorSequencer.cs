using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>
/// Lets one reactor go on at a time, and the world move on when all wait: whose turn it is follows from the seed, however many threads
/// there are. Whoever waits looks for who is next, and hands over to him.
/// </summary>
internal sealed class ReactorSequencer(World world, SimulationRun simulation)
{
    /// <summary>More than all deadlines together, and leaps of the clock.</summary>
    private const int StallMs = 3_600_000;

    private readonly List<SimulatedBackend> _rings = [];
    private readonly Lock _gate = new();
    private int _arrived;
    private long _lastDeliveryMs = world.NowMs;

    /// <summary>Whose reactor runs now.</summary>
    public SimulatedBackend Current { get; private set; } = null!;

    /// <summary>A reactor that there will be; all of them before the first starts.</summary>
    public void Add(SimulatedBackend ring) => _rings.Add(ring);

    /// <summary>A reactor has started, and waits until all have: then it is the first one's turn.</summary>
    public void Arrive(SimulatedBackend ring)
    {
        bool isLast;
        lock (_gate)
        {
            isLast = ++_arrived == _rings.Count;
        }

        if (isLast)
        {
            Current = _rings[0];
            HandOver(Current, ring);
        }
        else
        {
            ring.Gate.Wait();
        }
    }

    /// <summary>Returns when it is the ring's turn again.</summary>
    public void Wait(SimulatedBackend ring)
    {
        Current = Next();
        HandOver(Current, ring);
    }

    /// <summary>The ring's reactor has ended, and hands over for the last time.</summary>
    public void Leave(SimulatedBackend ring)
    {
        if (_rings.Remove(ring) && _rings.Count > 0)
        {
            Current = Next();
            Current.Gate.Release();
        }
    }

    public void NoteDelivery() => _lastDeliveryMs = world.NowMs;

    private static void HandOver(SimulatedBackend next, SimulatedBackend present)
    {
        if (next != present)
        {
            next.Gate.Release();
            present.Gate.Wait();
        }
    }

    private SimulatedBackend Next()
    {
        while (!world.HasFailed)
        {
            while (!_rings.Exists(static ring => ring.HasEnough) && !world.HasFailed && world.EventQueue.TryRunDue())
            {
            }

            SimulatedBackend[] ready = [.. _rings.Where(static ring => ring.IsReady)];
            if (ready.Length > 0)
            {
                return ready.Length == 1 ? ready[0] : world.Random.Pick<SimulatedBackend>(ready);
            }

            long nextMs = Math.Min(world.EventQueue.NextAtMs, _rings.Min(static ring => ring.ReadyAtMs));
            if (nextMs > Math.Max(_lastDeliveryMs, world.PeersMovedAtMs) + StallMs)
            {
                world.Fail(
                    simulation.FirstOpenPeer, $"The run stalls: the server waits, and nothing is left to happen.{simulation.DescribeConnections()}");
                break;
            }

            world.EventQueue.AdvanceTo(nextMs);
        }

        return _rings[0];
    }
}
