using System.Collections.Concurrent;
using Millrace.Http;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles;

/// <summary>
/// Compares the files that a plan depends on with the disk before the plan is made, for a site whose changes are not watched. Besides the
/// path itself these are the candidates that could serve it (pages, rule targets, the fallback, error pages), whether they exist or not.
/// Any thread.
/// </summary>
internal sealed class Revalidation(AssetCatalog catalog, ResponsePlanner planner)
{
    private const long RetryMs = 1_000;

    /// <summary>One refresh at a time: when many requests find the same change, the first refreshes and the others find it done.</summary>
    private readonly Lock _refreshLock = new();

    /// <summary>When a directory was refreshed without result. Limits retries, as each may wait for a network timeout.</summary>
    private readonly ConcurrentDictionary<byte[], long> _failedAtMs = new(BytesComparer.Instance);

    public void Run(byte[] targetPath, byte[] query, byte[] accept)
    {
        byte[] decoded = new byte[targetPath.Length];
        PathResult result = TargetPath.Decode(targetPath, decoded, out ReadOnlySpan<byte> path);
        if (result is not (PathResult.Ok or PathResult.EmptySegment))
        {
            return;
        }

        // A refresh may change where the request resolves, rules above all. Each path is checked once.
        var visited = new HashSet<byte[]>(BytesComparer.Instance);
        byte[][] next = result == PathResult.Ok ? [path.ToArray()] : [.. PathsLookedUpFor(targetPath, query, accept)];
        while (next.Length > 0)
        {
            foreach (byte[] candidate in next)
            {
                visited.Add(candidate);
                RefreshIfStale(candidate);
            }

            next = [.. PathsLookedUpFor(targetPath, query, accept).Except(visited, BytesComparer.Instance)];
        }
    }

    private void RefreshIfStale(byte[] path)
    {
        if (!NeedsRefresh(path, out _, out _))
        {
            return;
        }

        lock (_refreshLock)
        {
            if (NeedsRefresh(path, out Freshness freshness, out byte[] directory))
            {
                Refresh(freshness, directory);
            }
        }
    }

    private bool NeedsRefresh(byte[] path, out Freshness freshness, out byte[] directory)
    {
        freshness = Check(path, out directory);
        return freshness switch
        {
            Freshness.Current => false,
            Freshness.Doubtful => !_failedAtMs.TryGetValue(directory, out long atMs) || Environment.TickCount64 - atMs >= RetryMs,
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
            _failedAtMs[directory] = Environment.TickCount64;
        }
        else
        {
            _ = _failedAtMs.TryRemove(directory, out _);
        }
    }

    private Freshness Check(ReadOnlySpan<byte> path, out byte[] directory)
    {
        CatalogSnapshot snapshot = catalog.Acquire();
        try
        {
            Freshness freshness = FreshnessCheck.Of(path, snapshot, out SiteDirectory? changed);
            directory = changed is null ? [] : changed.Path.ToArray();
            return freshness;
        }
        finally
        {
            snapshot.Release();
        }
    }

    private HashSet<byte[]> PathsLookedUpFor(byte[] targetPath, byte[] query, byte[] accept)
    {
        var scratch = new PlanScratch { LookedUpPaths = new HashSet<byte[]>(BytesComparer.Instance) };
        CatalogSnapshot snapshot = catalog.Acquire();
        try
        {
            var request = new PlanRequest
            {
                Method = Method.Get,
                Path = targetPath,
                Query = query,
                Accept = accept,
                IsInternal = true,
            };
            _ = planner.Decide(request, snapshot, scratch);
            return scratch.LookedUpPaths;
        }
        finally
        {
            snapshot.Release();
        }
    }
}
