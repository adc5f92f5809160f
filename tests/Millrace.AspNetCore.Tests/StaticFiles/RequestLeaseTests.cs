using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>Leases of many threads on snapshots that are superseded under them.</summary>
public sealed class RequestLeaseTests : IDisposable
{
    private readonly SiteFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task A_superseded_snapshot_lives_as_long_as_its_last_lease()
    {
        using AssetCatalog catalog = Open();
        SnapshotLease first = catalog.AcquireForRequest();
        SnapshotLease second = catalog.AcquireForRequest();
        CatalogSnapshot before = first.Snapshot;
        Assert.Same(catalog.Current, before);

        Change(catalog);
        Assert.NotSame(catalog.Current, before);
        first.Release();
        await Task.Delay(50);
        Assert.False(before.Freed.IsCompleted);

        await Task.Run(second.Release);
        await before.Freed.WaitAsync(HostedApp.Limit);
    }

    [Fact]
    public async Task A_snapshot_that_nobody_uses_goes_with_the_swap()
    {
        using AssetCatalog catalog = Open();
        CatalogSnapshot before = catalog.Current;
        Change(catalog);
        await before.Freed.WaitAsync(HostedApp.Limit);
    }

    [Fact]
    public async Task A_lease_taken_before_the_end_outlasts_it_and_none_is_given_after()
    {
        AssetCatalog catalog = Open();
        SnapshotLease lease = catalog.AcquireForRequest();
        catalog.Dispose();
        Assert.Throws<ObjectDisposedException>(() => catalog.AcquireForRequest());
        Assert.Equal(PathMatch.Asset, lease.Snapshot.TryFind("/one.txt"u8, out _, out _));
        Task freed = lease.Snapshot.Freed;
        Assert.False(freed.IsCompleted);
        lease.Release();
        await freed.WaitAsync(HostedApp.Limit);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task Threads_that_lease_while_versions_come_and_go_use_none_that_is_freed()
    {
        const int versions = 200;
        using AssetCatalog catalog = Open();
        using var stop = new CancellationTokenSource();
        Task[] readers = [.. Enumerable.Range(0, 8).Select(reader => Task.Run(async () =>
        {
            while (!stop.IsCancellationRequested)
            {
                SnapshotLease lease = catalog.AcquireForRequest();
                Assert.False(lease.Snapshot.Freed.IsCompleted);
                Assert.Equal(PathMatch.Asset, lease.Snapshot.TryFind("/one.txt"u8, out Asset? asset, out _));
                int first = asset!.InMemoryBody[0];
                if (reader % 2 == 0)
                {
                    // Released on another thread, perhaps on another processor.
                    await Task.Yield();
                }

                Assert.Equal(first, asset.InMemoryBody[0]);
                Assert.False(lease.Snapshot.Freed.IsCompleted);
                lease.Release();
            }
        }))];

        var seen = new List<CatalogSnapshot>();
        for (int version = 0; version < versions; version++)
        {
            seen.Add(catalog.Current);
            Change(catalog);
            await Task.Yield();
        }

        await stop.CancelAsync();
        await Task.WhenAll(readers).WaitAsync(HostedApp.Limit);
        await Task.WhenAll(seen.Select(static snapshot => snapshot.Freed)).WaitAsync(HostedApp.Limit);
    }

    private AssetCatalog Open()
    {
        _folder.Add("one.txt", "1");
        return AssetCatalog.Open(new SiteOptions { Root = _folder.Root });
    }

    /// <summary>Has the catalogue swap to a next version.</summary>
    private void Change(AssetCatalog catalog)
    {
        CatalogSnapshot before = catalog.Current;
        _folder.Add("one.txt", $"{Guid.NewGuid()}");
        catalog.Reload();
        Assert.NotSame(before, catalog.Current);
    }
}
