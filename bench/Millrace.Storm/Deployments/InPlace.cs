using Millrace.Storm.Judging;
using Millrace.Storm.Site;

namespace Millrace.Storm.Deployments;

/// <summary>Files are cut short where they are, under everybody who is reading them, and then replaced.</summary>
internal sealed class Truncations(SiteFolder site, SiteMonitor lookout, int seed) : Deployment(site, lookout, seed)
{
    protected override void Step()
    {
        StandingFile file = Pick(Upkeep.Truncated);
        Edition edition = Site.HistoryOf(file.Path).Current.Edition!.Value;
        long bytes = Chance.NextInt64(Edition.LineBytes, edition.Length);
        using (FileStream stream = File.OpenWrite(Site.PathOf(file.Path)))
        using (Site.HistoryOf(file.Path).BecomeBySteps(edition, bytes))
        {
            stream.SetLength(bytes);
        }

        Lookout.Await("truncation", file.Path);
        Replace(file);
        Lookout.Await("rename", file.Path);
    }
}

/// <summary>Files are written over where they are: with the same length, or emptied first.</summary>
internal sealed class Rewrites(SiteFolder site, SiteMonitor lookout, int seed) : Deployment(site, lookout, seed)
{
    protected override void Step()
    {
        StandingFile file = Pick(Upkeep.Rewritten);
        History history = Site.HistoryOf(file.Path);
        Edition before = history.Current.Edition!.Value;
        Edition edition = Site.NewEdition(file.Number, file.BytesMin);
        bool isEmptiedFirst = Chance.Next(2) == 0;
        if (!isEmptiedFirst)
        {
            edition = edition with { Length = before.Length };
        }

        byte[] bytes = edition.ToBytes();
        using (history.BecomeBySteps(edition, edition.Length))
        {
            using var stream = new FileStream(
                Site.PathOf(file.Path), isEmptiedFirst ? FileMode.Truncate : FileMode.Open, FileAccess.Write, FileShare.ReadWrite, bufferSize: 0);
            stream.Write(bytes);
        }

        Lookout.Await("rewrite in place", file.Path);
    }
}
