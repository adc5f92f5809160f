using Millrace.Storm.Judging;
using Millrace.Storm.Site;

namespace Millrace.Storm.Deployments;

/// <summary>Single files, each renamed over the one before; the next when this one is seen.</summary>
internal sealed class Renames(SiteFolder site, SiteMonitor lookout, int seed) : Deployment(site, lookout, seed)
{
    public static bool Owns(StandingFile file) => file.Upkeep == Upkeep.Renamed && file.Number % 2 == 0;

    protected override void Step()
    {
        StandingFile file = Pick(Upkeep.Renamed);
        if (Owns(file))
        {
            Replace(file);
            Lookout.Await("rename", file.Path);
        }
    }
}

/// <summary>Single files one after the other, without waiting for anything: events never cease.</summary>
internal sealed class Flood(SiteFolder site, SiteMonitor lookout, int seed) : Deployment(site, lookout, seed)
{
    private const int PauseMs = 2;

    protected override void Step()
    {
        StandingFile file = Pick(Upkeep.Renamed);
        if (!Renames.Owns(file))
        {
            Replace(file);
            Thread.Sleep(PauseMs);
        }
    }
}
