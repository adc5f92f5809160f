using System.Diagnostics;
using System.Globalization;
using Millrace.Engine.Backends;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>Many runs, one seed after the other, as many at once as there are cores: each is a reactor of its own.</summary>
internal sealed class Campaign(SimulatedSites sites, Func<SimulatedBackend, Backend> tamper, bool hasUpstreams = false, bool hasTunnels = false)
{
    private readonly Lock _gate = new();
    private readonly FaultCounts _counts = new();
    private readonly Stopwatch _watch = new();
    private static readonly int MostViolations = int.Parse(Environment.GetEnvironmentVariable("MILLRACE_VIOLATIONS") ?? "0", CultureInfo.InvariantCulture);
    private ulong _nextSeed;

    /// <summary>What was found, at most one of each run.</summary>
    public List<Violation> Violations { get; } = [];

    public long Runs { get; private set; }

    public long Connections { get; private set; }

    /// <summary>Exchanges that upstreams answer.</summary>
    public long Proxied { get; private set; }

    /// <summary>Tunnels among them.</summary>
    public long Tunnels { get; private set; }

    private long Reached => hasUpstreams ? Proxied : Connections;

    /// <summary>Runs seeds from the first on until there is enough, or something was found.</summary>
    /// <param name="firstSeed">The first.</param>
    /// <param name="most">The time to spend on it, and longer where that is not enough for the least.</param>
    /// <param name="enough">So many connections, or with upstreams, proxied exchanges.</param>
    /// <param name="runsMin">The least: other work may leave this machine little time.</param>
    public void Run(ulong firstSeed, TimeSpan most, long enough, long runsMin = 0)
    {
        _nextSeed = firstSeed;
        _watch.Start();
        Thread[] workers = [.. Enumerable.Range(0, Environment.ProcessorCount).Select(_ => new Thread(() => Work(most, enough, runsMin)))];
        Array.ForEach(workers, static worker => worker.Start());
        Array.ForEach(workers, static worker => worker.Join());
        _watch.Stop();
    }

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"""
         {Runs:N0} runs (seeds up to {_nextSeed - 1}), {Connections:N0} connections, {Proxied:N0} proxied exchanges, {Tunnels:N0} tunnels in {_watch.Elapsed.TotalSeconds:F1} s, {Runs / _watch.Elapsed.TotalSeconds:N0} runs/s
         Faults injected:
         {_counts}{Violations.Count} violations
         """);

    private void Work(TimeSpan most, long enough, long runsMin)
    {
        while (true)
        {
            ulong seed;
            lock (_gate)
            {
                bool isOver = _watch.Elapsed >= most && Runs >= runsMin;
                if (isOver || Reached >= enough || Violations.Count > MostViolations)
                {
                    return;
                }

                seed = _nextSeed++;
            }

            RunReport report = SimulationRun.Run(seed, sites, tamper, hasUpstreams, hasTunnels);
            lock (_gate)
            {
                Add(report);
            }
        }
    }

    private void Add(RunReport report)
    {
        Runs++;
        Connections += report.Connections;
        Proxied += report.Proxied;
        Tunnels += report.Tunnels;
        _counts.Add(report.FaultCounts);
        if (report.Violation is not null)
        {
            Violations.Add(report.Violation);
        }
    }
}
