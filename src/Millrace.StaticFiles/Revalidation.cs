using System.Collections.Concurrent;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;

namespace Millrace.StaticFiles;

/// <summary>
/// Compares what a plan depends on with the disk, before it is made, for a site that nobody tells of changes: the path itself, and where
/// a page, a rule's target, the fallback or an error's page would answer for it, theirs, whether they are there or not. Any thread.
/// </summary>
internal sealed class Revalidation(AssetCatalog catalog, Planner planner)
{
    private const long RetryMs = 1_000;

    /// <summary>Many requests may meet one change: the first reads the directory again, those behind it find it read.</summary>
    private readonly Lock _refreshing = new();

    /// <summary>Directories that were read again and are no better, and when: some may take a network's patience each time.</summary>
    private readonly ConcurrentDictionary<byte[], long> _inVain = new(PathBytes.Comparer);

    /// <param name="targetPath">The path of a request's target, percent-encoded; taken over.</param>
    /// <param name="query">Its query without '?'; taken over.</param>
    /// <param name="accept">Its Accept field; taken over.</param>
    public void Run(byte[] targetPath, byte[] query, byte[] accept)
    {
        byte[] decoded = new byte[targetPath.Length];
        if (TargetPath.Decode(targetPath, decoded, out ReadOnlySpan<byte> path) != PathResult.Ok)
        {
            return;
        }

        // What was refreshed may lead to other paths, rules above all; each is looked at once.
        var looked = new HashSet<byte[]>(PathBytes.Comparer);
        byte[][] next = [path.ToArray()];
        while (next.Length > 0)
        {
            foreach (byte[] asked in next)
            {
                looked.Add(asked);
                RefreshIfStale(asked);
            }

            next = [.. PathsAskedBy(targetPath, query, accept).Except(looked, PathBytes.Comparer)];
        }
    }

    private void RefreshIfStale(byte[] path)
    {
        if (!NeedsRefresh(path, out _, out _))
        {
            return;
        }

        lock (_refreshing)
        {
            if (NeedsRefresh(path, out Freshness freshness, out byte[] directory))
            {
                Refresh(freshness, directory);
            }
        }
    }

    private bool NeedsRefresh(byte[] path, out Freshness freshness, out byte[] directory)
    {
        freshness = Look(path, out directory);
        return freshness switch
        {
            Freshness.Current => false,
            Freshness.Doubtful => !_inVain.TryGetValue(directory, out long atMs) || Environment.TickCount64 - atMs >= RetryMs,
            _ => true,
        };
    }

    private void Refresh(Freshness freshness, byte[] directory)
    {
        CatalogSnapshot before = catalog.Current;
        if (freshness == Freshness.RootChanged)
        {
            catalog.Reload();
        }
        else
        {
            catalog.Refresh([new DirectoryChange(directory)]);
        }

        if (freshness == Freshness.Doubtful && catalog.Current == before)
        {
            _inVain[directory] = Environment.TickCount64;
        }
        else
        {
            _ = _inVain.TryRemove(directory, out _);
        }
    }

    private Freshness Look(ReadOnlySpan<byte> path, out byte[] directory)
    {
        CatalogSnapshot snapshot = catalog.Adopt();
        try
        {
            Freshness freshness = snapshot.Check(path, out SiteDirectory? changed);
            directory = changed is null ? [] : changed.Path.ToArray();
            return freshness;
        }
        finally
        {
            snapshot.Release();
        }
    }

    private HashSet<byte[]> PathsAskedBy(byte[] targetPath, byte[] query, byte[] accept)
    {
        var scratch = new PlanScratch { PathsAsked = new HashSet<byte[]>(PathBytes.Comparer) };
        CatalogSnapshot snapshot = catalog.Adopt();
        try
        {
            var request = new PlanRequest
            {
                Method = RequestMethod.Get,
                Path = targetPath,
                Query = query,
                Accept = accept,
                Admission = Admission.Granted,
            };
            _ = planner.Decide(request, snapshot, scratch);
            return scratch.PathsAsked;
        }
        finally
        {
            snapshot.Release();
        }
    }
}
