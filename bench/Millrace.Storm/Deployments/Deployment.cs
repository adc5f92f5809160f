using Millrace.Storm.Judging;
using Millrace.Storm.Site;

namespace Millrace.Storm.Deployments;

/// <summary>One way of changing a site, over and over. Each has paths that no other changes, and a thread.</summary>
internal abstract class Deployment(SiteFolder site, SiteMonitor lookout, int seed)
{
    protected SiteFolder Site => site;

    protected SiteMonitor Lookout => lookout;

    protected Random Chance { get; } = new(seed);

    /// <summary>Until the storm is over.</summary>
    public virtual void Run(CancellationToken over)
    {
        while (!over.IsCancellationRequested)
        {
            Site.EnterRoot();
            try
            {
                Step();
            }
            finally
            {
                Site.LeaveRoot();
            }
        }
    }

    /// <summary>One change and its consequences, in a root that stays.</summary>
    protected abstract void Step();

    protected StandingFile Pick(Upkeep upkeep) => Chance.GetItems([.. StandingFile.All.Where(file => file.Upkeep == upkeep)], 1)[0];

    /// <summary>A new version is renamed over a path, or to where nothing is.</summary>
    protected void Replace(StandingFile file)
    {
        Edition edition = Site.NewEdition(file.Number, file.BytesMin);
        string staged = Site.Filter(file.Path, edition.ToBytes(), isOutside: Chance.Next(2) == 0);
        using (Site.HistoryOf(file.Path).Become(edition))
        {
            SiteFolder.Rename(staged, Site.PathOf(file.Path));
        }
    }
}
