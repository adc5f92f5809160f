using System.Globalization;
using Millrace.Storm.Judging;
using Millrace.Storm.Site;

namespace Millrace.Storm.Deployments;

/// <summary>Whole releases beside each other, and a link within the root that is swapped from one to the next.</summary>
internal sealed class Releases(SiteFolder site, SiteMonitor lookout, int seed) : Deployment(site, lookout, seed)
{
    private const int Kept = 2;

    protected override void Step()
    {
        int number = Site.NewNumber();
        StandingFile[] files = [.. StandingFile.All.Where(static file => file.Upkeep == Upkeep.Released)];
        Edition[] editions = [.. files.Select(file => Site.NewEdition(file.Number, file.BytesMin))];
        Directory.CreateDirectory(Site.PathOf($"releases/{number}"));
        foreach ((StandingFile file, Edition edition) in files.Zip(editions))
        {
            File.WriteAllBytes(Site.PathOf($"releases/{number}/{Path.GetFileName(file.Path)}"), edition.ToBytes());
        }

        string link = Site.PathOf($".app-{number}");
        File.CreateSymbolicLink(link, $"releases/{number}");
        History.Change[] changes = [.. files.Zip(editions, (file, edition) => Site.HistoryOf(file.Path).Become(edition))];
        SiteFolder.Rename(link, Site.PathOf("app"));
        Array.ForEach(changes, static change => change.Dispose());

        Lookout.Await("link swap", Chance.GetItems(files, 1)[0].Path);
        DeleteOld();
    }

    private void DeleteOld()
    {
        IEnumerable<string> releases = Directory.GetDirectories(Site.PathOf("releases"))
            .OrderByDescending(static path => int.Parse(Path.GetFileName(path), CultureInfo.InvariantCulture));
        foreach (string old in releases.Skip(Kept))
        {
            Directory.Delete(old, recursive: true);
        }
    }
}

/// <summary>The link that the server was given as its root is swapped.</summary>
internal sealed class RootSwaps(SiteFolder site, SiteMonitor lookout, int seed) : Deployment(site, lookout, seed)
{
    private static readonly TimeSpan Pause = TimeSpan.FromSeconds(1);

    public override void Run(CancellationToken over)
    {
        while (!over.WaitHandle.WaitOne(Pause))
        {
            Step();
        }
    }

    protected override void Step() => Site.SwapRoot(() => Lookout.Await("root swap", Pick(Upkeep.Rooted).Path));
}
