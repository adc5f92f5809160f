using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Faults;

/// <summary>
/// Which faults a run has, and how often: each run draws its own subset, because faults that are all there at once hide each other
/// (Groce et al., "Swarm testing", 2012).
/// </summary>
internal sealed class Swarm
{
    private readonly int[] _ratesPerMille = new int[FaultCounts.Kinds];

    /// <param name="random">The run's chance.</param>
    /// <param name="hasUpstreams">Whether there are upstreams to have faults; runs without any draw nothing for them.</param>
    public Swarm(SeededRandom random, bool hasUpstreams)
    {
        // Of a hundred runs a few have none: what they find needs none. In half of the rest a fault is rarer than not.
        int subsetPerMille = random.Pick<int>(0, 100, 250, 500, 500, 750);
        for (int kind = 0; kind < (hasUpstreams ? _ratesPerMille.Length : (int)FaultKind.UpstreamRefuses); kind++)
        {
            bool isDrawn = random.Chance(subsetPerMille);
            int rate = random.Pick<int>(5, 20, 60, 200);
            _ratesPerMille[kind] = isDrawn ? rate : 0;
        }
    }

    /// <summary>Whether the fault is in the run's subset.</summary>
    public bool Has(FaultKind kind) => _ratesPerMille[(int)kind] > 0;

    public bool Strikes(FaultKind kind, SeededRandom random)
    {
        int rate = _ratesPerMille[(int)kind];
        return rate > 0 && random.Chance(rate);
    }
}
