using System.Text;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// Builds the next snapshot: lists directories, gives their files assets, compiles the rules if their files changed, and
/// compares with the previous one. Throws <see cref="SiteException"/> and frees what it took if the root cannot be read. One build at a
/// time.
/// </summary>
internal sealed class SnapshotBuilder(
    SiteOptions options, AssetResources resources, DeferredFreeQueue freeQueue, IDirectoryObserver? observer, ScanProgress? progress)
{
    private readonly ContentTypes _types = new(options);
    private readonly byte[][] _indexNames = [.. options.IndexNames.Select(Encoding.UTF8.GetBytes)];

    /// <summary>Builds the whole site from its root's name.</summary>
    public SnapshotChange BuildAll(CatalogSnapshot? previous)
    {
        options.PrivateFiles?.Refresh();
        var root = RootDirectory.Open(options.Root);
        try
        {
            var skipped = new SkippedEntries();
            var scan = new SiteScanner(root, options, previous?.Table ?? DirectoryTable.Empty, skipped, observer, progress);
            progress?.Begin();
            scan.ScanAll();
            return Build(scan, root, previous, skipped)!;
        }
        catch
        {
            root.Dispose();
            throw;
        }
        finally
        {
            progress?.End();
        }
    }

    /// <summary>Builds from changes in some directories and what is new below them; null if nothing changed.</summary>
    public SnapshotChange? BuildChanges(CatalogSnapshot previous, IReadOnlyCollection<DirectoryChange> changes)
    {
        var skipped = new SkippedEntries();
        var scan = new SiteScanner(previous.Root, options, previous.Table, skipped, observer, progress);
        progress?.Begin();
        try
        {
            scan.ScanChanges(changes);
            return Build(scan, previous.Root, previous, skipped);
        }
        finally
        {
            progress?.End();
        }
    }

    private SnapshotChange? Build(SiteScanner scan, RootDirectory root, CatalogSnapshot? previous, SkippedEntries skipped)
    {
        SnapshotTotals kept = TotalsWithout(scan, previous);
        DirectoryReader.RequireEntries(options, kept.Entries + scan.Listed.Sum(listed => (long)listed.EntryCount));
        var budget = new SnapshotBudget(resources, options, kept);
        var loader = new AssetLoader(root, options, _types, budget, skipped, progress);
        using var build = new AssetBuilder(options, loader, resources, budget);
        build.Run(scan.Listed);

        (SiteRules rules, RuleFileStates? states) = ReadRules(scan, root, previous, skipped);
        var changed = new List<SiteDirectory>();
        var dropped = new List<Asset>();
        // Untouched directories are still to be checked again.
        List<DirectoryChange> unsettled = [.. previous?.Unsettled.Where(change => IsUntouched(scan, change)) ?? []];
        SnapshotTotals totals = kept;
        foreach (ListedDirectory listed in scan.Listed)
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

        dropped.AddRange(scan.Removed.SelectMany(path => DroppedFrom(previous!.Table.Find(path.Bytes), null)));
        build.Commit();
        SkippedEntry[] notServed = skipped.After(
            previous?.Skipped ?? [], directory => scan.Removed.Contains(directory) || scan.IsListed(directory));
        if (changed.Count == 0 && scan.Removed.Count == 0 && previous is not null && root == previous.Root && rules == previous.Rules
            && states == previous.RuleFiles && notServed.ToHashSet().SetEquals(previous.Skipped))
        {
            return null;
        }

        DirectoryTable table = (previous?.Table ?? DirectoryTable.Empty).With(changed, scan.Removed);
        var next = new CatalogSnapshot(root, table, rules, freeQueue)
        {
            RuleFiles = states,
            Totals = totals,
            Skipped = notServed,
            IndexNames = _indexNames,
            Unsettled = unsettled,
            PrivateFiles = options.PrivateFiles,
        };
        return new SnapshotChange(next, dropped, [.. scan.Removed]);
    }

    private (SiteRules Rules, RuleFileStates? States) ReadRules(
        SiteScanner scan, RootDirectory root, CatalogSnapshot? previous, SkippedEntries skipped) =>
        scan.RootListed is ListedDirectory listed
            ? new RuleFiles(root, options).Read(previous, listed, skipped)
            : (previous!.Rules, previous.RuleFiles);

    /// <summary>The totals of the directories that were not listed.</summary>
    private static SnapshotTotals TotalsWithout(SiteScanner scan, CatalogSnapshot? previous)
    {
        if (previous is null)
        {
            return default;
        }

        SnapshotTotals totals = previous.Totals;
        foreach (ListedDirectory listed in scan.Listed)
        {
            totals = listed.Previous is SiteDirectory known ? totals.Minus(known) : totals;
        }

        foreach (SitePath path in scan.Removed)
        {
            totals = totals.Minus(previous.Table.Find(path.Bytes)!);
        }

        return totals;
    }

    private static bool IsUntouched(SiteScanner scan, DirectoryChange change)
    {
        SitePath path = SitePath.Of(change.Path);
        return !scan.IsListed(path) && !scan.Removed.Contains(path);
    }

    private static IEnumerable<Asset> DroppedFrom(SiteDirectory? before, SiteDirectory? after)
    {
        Asset[] assets = before is null ? [] : before.Assets.ToArray();
        return assets.Where(asset => after?.Find(asset.SitePath.Name) != asset);
    }
}

/// <summary>The difference between one snapshot and the next.</summary>
internal sealed record SnapshotChange(
    CatalogSnapshot Next, IReadOnlyCollection<Asset> Dropped, IReadOnlyCollection<SitePath> Removed);
