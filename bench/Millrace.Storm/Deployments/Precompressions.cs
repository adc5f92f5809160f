using Millrace.Storm.Judging;
using Millrace.Storm.Site;

namespace Millrace.Storm.Deployments;

/// <summary>Scripts are replaced together with their .gz and .br, in any order.</summary>
internal sealed class Precompressions(SiteFolder site, SiteMonitor lookout, int seed) : Deployment(site, lookout, seed)
{
    protected override void Step()
    {
        StandingFile file = Pick(Upkeep.Precompressed);
        Edition edition = Site.NewEdition(file.Number, file.BytesMin);
        byte[] bytes = edition.ToBytes();
        // Made in this order, so that no sibling is older than its original.
        (string Path, string Staged)[] moves =
        [
            (file.Path, Site.Filter(file.Path, bytes, isOutside: false)),
            (file.Path + ".gz", Site.Filter(file.Path, SiteFolder.Gzip(bytes), isOutside: true)),
            (file.Path + ".br", Site.Filter(file.Path, SiteFolder.Brotli(bytes), isOutside: false)),
        ];
        Chance.Shuffle(moves);
        foreach ((string path, string staged) in moves)
        {
            using (Site.HistoryOf(path).Become(edition))
            {
                SiteFolder.Rename(staged, Site.PathOf(path));
            }
        }

        string[] codings = ["", "gzip", "br"];
        string coding = Chance.GetItems(codings, 1)[0];
        Lookout.Await("precompressed", file.Path, coding.Length == 0 ? null : coding);
    }
}
