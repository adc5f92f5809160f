using Millrace.Storm.Judging;
using Millrace.Storm.Site;

namespace Millrace.Storm.Deployments;

/// <summary>Trees of directories with files appear, are moved as a whole, and go.</summary>
internal sealed class MassCreations(SiteFolder site, SiteMonitor lookout, int seed) : Deployment(site, lookout, seed)
{
    private const int Branches = 4;
    private const long BytesMin = 640;

    protected override void Step()
    {
        string tree = $"mass/{Site.NewNumber()}";
        string moved = $"mass/{Site.NewNumber()}";
        List<(string Path, Edition Edition)> files = Grow(tree);
        Lookout.Await("mass creation", $"{tree}/{files[^1].Path}");
        foreach ((string path, _) in Chance.GetItems(files.ToArray(), Branches))
        {
            Lookout.Ask($"{tree}/{path}");
        }

        History.Change[] changes =
        [
            .. files.Select(file => Site.HistoryOf($"{tree}/{file.Path}").Become(null)),
            .. files.Select(file => Site.HistoryOf($"{moved}/{file.Path}").Become(file.Edition)),
        ];
        SiteFolder.Rename(Site.PathOf(tree), Site.PathOf(moved));
        Array.ForEach(changes, static change => change.Dispose());
        Lookout.Await("folder move", $"{moved}/{files[0].Path}");
        Lookout.Await("folder move", $"{tree}/{files[^1].Path}");

        changes = [.. files.Select(file => Site.HistoryOf($"{moved}/{file.Path}").Become(null))];
        Directory.Delete(Site.PathOf(moved), recursive: true);
        Array.ForEach(changes, static change => change.Dispose());
        Lookout.Await("folder deletion", $"{moved}/{files[^1].Path}");
    }

    /// <summary>Three levels: a file may be there before anybody can have begun to watch its folder.</summary>
    private List<(string Path, Edition Edition)> Grow(string tree)
    {
        List<(string Path, Edition Edition)> files = [];
        for (int i = 0; i < Branches * Branches * Branches; i++)
        {
            string folder = $"{i % Branches}/{i / Branches % Branches}/{i / Branches / Branches}";
            Directory.CreateDirectory(Site.PathOf($"{tree}/{folder}"));
            Edition edition = Site.NewEdition(Site.NewNumber(), BytesMin);
            string path = $"{folder}/page.html";
            using (Site.HistoryOf($"{tree}/{path}").BecomeBySteps(edition, edition.Length))
            {
                File.WriteAllBytes(Site.PathOf($"{tree}/{path}"), edition.ToBytes());
            }

            files.Add((path, edition));
        }

        return files;
    }
}
