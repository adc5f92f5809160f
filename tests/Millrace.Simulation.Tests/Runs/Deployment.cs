using Microsoft.Extensions.Logging.Abstractions;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>
/// A site that is deployed again while it is served: a link that leads to one release and then to another, and a catalog that is notified. One
/// of a run's own. Which release a request may be answered from follows from when.
/// </summary>
internal sealed class Deployment
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);
    private static int Last;

    private readonly World _world;
    private readonly SimulatedReleases _releases;
    private readonly string _link;
    private readonly List<(long AtMs, int Release)> _history = [];

    public Deployment(World world, SimulatedReleases releases)
    {
        _world = world;
        _releases = releases;
        _link = releases.LinkOf(Interlocked.Increment(ref Last));
        PointTo(0);
        Way = world.Random.Below(SimulatedReleases.Ways);
        Site = Site.Open(SimulatedReleases.OptionsOf(Way, _link), NullLoggerFactory.Instance);
    }

    /// <summary>Whether it was deployed since the run began.</summary>
    public bool WasRepeated => _history.Count > 1;

    /// <summary>How it is served.</summary>
    public int Way { get; }

    public Site Site { get; }

    /// <summary>The link leads to another release, and the catalogue is read again.</summary>
    public void Deploy()
    {
        int next = (_history[^1].Release + _world.Random.Between(1, SimulatedReleases.Count - 1)) % SimulatedReleases.Count;
        PointTo(next);
        Site.Catalog.Reload();
    }

    /// <summary>Whether a request of that time may be answered from the release now.</summary>
    public bool WasServedSince(long atMs, int release)
    {
        int last = _history.FindLastIndex(deployed => deployed.AtMs < atMs);
        return _history.Skip(Math.Max(0, last)).Any(deployed => deployed.Release == release);
    }

    /// <summary>Nobody is served any more: every snapshot there was is given back, and what it held.</summary>
    public void End()
    {
        CatalogSnapshot last = Site.Catalog.Current;
        Site.Dispose();
        bool isFreed = last.Freed.Wait(Patience);
        (long Bytes, long Descriptors) held = (Site.Catalog.InMemoryBytesHeld, Site.Catalog.DescriptorsHeld);
        if (!isFreed || held != default)
        {
            _world.Fail(Trace.NoConnection, $"Snapshots were not given back; they hold {held}.");
        }

        File.Delete(_link);
    }

    private void PointTo(int release)
    {
        _history.Add((_world.NowMs, release));
        File.Delete(_link);
        File.CreateSymbolicLink(_link, _releases.FolderOf(release));
    }
}
