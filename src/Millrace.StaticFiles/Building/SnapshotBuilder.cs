using System.Text;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Content;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// Builds what the next snapshot consists of: list directories, give their files assets, compile the rules if their files changed, and
/// compare with what was. Throws <see cref="SiteException"/> and leaves nothing behind where the root cannot be read. One build at a time.
/// </summary>
internal sealed class SnapshotBuilder(SiteOptions options, AssetHoldings holdings, IDirectoryObserver? observer)
{
    private readonly ContentTypes _types = new(options);
    private readonly byte[][] _indexNames = [.. options.IndexNames.Select(Encoding.UTF8.GetBytes)];

    /// <summary>The whole site, from its root's name.</summary>
    public SnapshotChange All(SnapshotContent? previous)
    {
        var root = RootDirectory.Open(options.Root);
        try
        {
            var skipped = new SkippedEntries();
            var walk = new SiteWalk(root, options, previous?.Table ?? DirectoryTable.Empty, skipped, observer);
            walk.All();
            return Build(walk, root, previous, skipped)!;
        }
        catch
        {
            root.Dispose();
            throw;
        }
    }

    /// <summary>What changed in some directories and is new below them, or null where it is all as before.</summary>
    public SnapshotChange? Some(SnapshotContent previous, IReadOnlyCollection<DirectoryChange> changes)
    {
        var skipped = new SkippedEntries();
        var walk = new SiteWalk(previous.Root, options, previous.Table, skipped, observer);
        walk.Some(changes);
        return Build(walk, previous.Root, previous, skipped);
    }

    private SnapshotChange? Build(SiteWalk walk, RootDirectory root, SnapshotContent? previous, SkippedEntries skipped)
    {
        SnapshotTotals kept = TotalsWithout(walk, previous);
        walk.RequireEntries(kept.Entries + walk.Listed.Sum(listed => (long)listed.EntryCount));
        var shares = new SnapshotShares(holdings, options, kept);
        using var loader = new AssetLoader(root, options, _types, shares, skipped);
        using var build = new AssetBuild(options, loader, new SiblingProof(root), holdings, shares);
        build.Run(walk.Listed);

        (SiteRules rules, RuleFileStates? states) = ReadRules(walk, root, previous, skipped);
        var changed = new List<SiteDirectory>();
        var dropped = new List<Asset>();
        // What nobody looked at since is as worth another look as before.
        List<DirectoryChange> unsettled = [.. previous?.Unsettled.Where(change => IsUntouched(walk, change)) ?? []];
        SnapshotTotals totals = kept;
        foreach (ListedDirectory listed in walk.Listed)
        {
            SiteDirectory directory = listed.Finish(_indexNames);
            totals = totals.Plus(directory);
            byte[][] weak = [.. directory.WeaklyTagged.Select(static asset => asset.SitePath.Name.ToArray())];
            if (weak.Length > 0)
            {
                unsettled.Add(new DirectoryChange(directory.Path.ToArray(), weak));
            }

            if (listed.Previous?.IsSameAs(directory) != true)
            {
                changed.Add(directory);
                dropped.AddRange(DroppedFrom(listed.Previous, directory));
            }
        }

        dropped.AddRange(walk.Left.SelectMany(path => DroppedFrom(previous!.Table.Find(path.Bytes), null)));
        build.Commit();
        if (changed.Count == 0 && walk.Left.Count == 0 && previous is not null
            && root == previous.Root && rules == previous.Rules && states == previous.RuleFiles)
        {
            return null;
        }

        DirectoryTable table = (previous?.Table ?? DirectoryTable.Empty).With(changed, walk.Left);
        SkippedLog log = (previous?.Skipped ?? SkippedLog.Empty).With(
            skipped.Kept, directory => walk.Left.Contains(directory) || walk.IsListed(directory));
        var content = new SnapshotContent(root, table, rules, states, log, totals)
        {
            IndexNames = _indexNames,
            Unsettled = unsettled,
        };
        return new SnapshotChange(content, dropped, [.. walk.Left]);
    }

    private (SiteRules Rules, RuleFileStates? States) ReadRules(
        SiteWalk walk, RootDirectory root, SnapshotContent? previous, SkippedEntries skipped) =>
        walk.RootListed is ListedDirectory listed
            ? new RuleFiles(root, options).Read(previous, listed, skipped)
            : (previous!.Rules, previous.RuleFiles);

    /// <summary>What the directories add up to that nobody looked at.</summary>
    private static SnapshotTotals TotalsWithout(SiteWalk walk, SnapshotContent? previous)
    {
        if (previous is null)
        {
            return default;
        }

        SnapshotTotals totals = previous.Totals;
        foreach (ListedDirectory listed in walk.Listed)
        {
            totals = listed.Previous is SiteDirectory known ? totals.Minus(known) : totals;
        }

        foreach (SitePath path in walk.Left)
        {
            totals = totals.Minus(previous.Table.Find(path.Bytes)!);
        }

        return totals;
    }

    private static bool IsUntouched(SiteWalk walk, DirectoryChange change)
    {
        SitePath path = SitePath.Of(change.Path);
        return !walk.IsListed(path) && !walk.Left.Contains(path);
    }

    private static IEnumerable<Asset> DroppedFrom(SiteDirectory? before, SiteDirectory? after)
    {
        Asset[] assets = before is null ? [] : before.Assets.ToArray();
        return assets.Where(asset => after?.Find(asset.SitePath.Name) != asset);
    }
}
