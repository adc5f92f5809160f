using Millrace.Storm.Judging;
using Millrace.Storm.Site;

namespace Millrace.Storm.Deployments;

/// <summary>Files go away and come back.</summary>
internal sealed class Deletions(SiteFolder site, SiteMonitor lookout, int seed) : Deployment(site, lookout, seed)
{
    protected override void Step()
    {
        StandingFile file = Pick(Upkeep.Deleted);
        using (Site.HistoryOf(file.Path).Become(null))
        {
            File.Delete(Site.PathOf(file.Path));
        }

        // Half of the time it is back before anybody knows that it was gone.
        if (Chance.Next(2) == 0)
        {
            Lookout.Await("deletion", file.Path);
        }

        Replace(file);
        Lookout.Await("creation", file.Path);
    }
}
