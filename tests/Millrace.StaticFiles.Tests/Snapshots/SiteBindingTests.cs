using Microsoft.Extensions.Logging.Abstractions;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>How long a snapshot lives, and what becomes of what it owned.</summary>
public sealed class SiteBindingTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Fact]
    public async Task An_old_snapshot_lives_until_its_last_lease_is_released()
    {
        _site.File("memory.txt", "first");
        _site.File("held.bin", new byte[100_000]);
        using AssetCatalog catalog = _site.Open();
        CatalogSnapshot first = catalog.Acquire();
        Assert.Same(first, catalog.Acquire());
        Assert.Equal(2, _site.OpenDescriptorCount());

        _site.File("memory.txt", "second, which takes more than sixty-four bytes, and so two lines of cache");
        _site.File("held.bin", new byte[100_001]);
        catalog.Reload();

        Assert.NotSame(first, catalog.Current);
        Assert.Equal("first", first.Body("/memory.txt"));
        Assert.Equal(4, _site.OpenDescriptorCount());
        Assert.Equal(64 + 128, catalog.InMemoryBytesHeld);
        first.Release();
        Assert.False(first.Freed.IsCompleted);
        Assert.Equal("first", first.Body("/memory.txt"));

        first.Release();
        await first.WhenFreedAsync();

        Assert.Equal(2, _site.OpenDescriptorCount());
        Assert.Equal(128, catalog.InMemoryBytesHeld);
        Assert.Equal(1, catalog.DescriptorsHeld);
        Assert.False(first.TryAcquire());
    }

    [Fact]
    public async Task A_disposed_catalog_frees_all_that_nobody_holds()
    {
        _site.File("memory.txt", "x");
        _site.File("held.bin", new byte[100_000]);
        AssetCatalog catalog = _site.Open();
        CatalogSnapshot snapshot = catalog.Acquire();

        catalog.Dispose();
        catalog.Dispose();

        Assert.Throws<ObjectDisposedException>(catalog.Acquire);
        Assert.Throws<ObjectDisposedException>(catalog.Reload);
        Assert.Equal("x", snapshot.Body("/memory.txt"));
        snapshot.Release();
        await snapshot.WhenFreedAsync();
        Assert.Equal(0, _site.OpenDescriptorCount());
        Assert.Equal(0, catalog.InMemoryBytesHeld);
        Assert.Equal(0, catalog.DescriptorsHeld);
    }

    [Fact]
    public async Task A_superseded_snapshot_is_released_with_its_last_use()
    {
        _site.File("f.txt", "first");
        using Site site = _site.OpenUnwatched();
        using var binding = new SiteBinding(site);
        CatalogSnapshot first = binding.Current;
        binding.BeginUse();
        binding.BeginUse();

        binding.AcquireLatest();
        Assert.Same(first, binding.Current);
        site.Catalog.Reload();
        Assert.Same(first, binding.Current);
        binding.AcquireLatest();

        Assert.NotSame(first, binding.Current);
        Assert.Same(site.Catalog.Current, binding.Current);
        binding.EndUse(first);
        Assert.True(first.TryAcquire());
        first.Release();
        binding.EndUse(first);
        await first.WhenFreedAsync();
        Assert.Equal(1, _site.OpenDescriptorCount());
    }

    [Fact]
    public async Task A_superseded_snapshot_without_uses_is_released_at_once()
    {
        using Site site = _site.OpenUnwatched();
        using var binding = new SiteBinding(site);
        CatalogSnapshot first = binding.Current;

        site.Catalog.Reload();
        binding.AcquireLatest();

        await first.WhenFreedAsync();
    }

    [Fact]
    public async Task Bodies_of_several_snapshots_end_in_any_order_also_after_the_binding()
    {
        // The compressor's thread, of the lowest priority, would hold a lease for as long as others keep it from running.
        using var site = Site.Open(_site.Options with { Watch = WatchMode.Off, Compression = false }, NullLoggerFactory.Instance);
        var binding = new SiteBinding(site);
        var seen = new List<CatalogSnapshot>();
        for (int i = 0; i < 4; i++)
        {
            seen.Add(binding.Current);
            binding.BeginUse();
            site.Catalog.Reload();
            binding.AcquireLatest();
        }

        seen.Add(binding.Current);
        binding.BeginUse();
        binding.Dispose();
        binding.Dispose();
        site.Catalog.Reload();
        foreach (int index in (int[])[2, 0, 4, 3, 1])
        {
            Assert.True(seen[index].TryAcquire());
            seen[index].Release();
            binding.EndUse(seen[index]);
            Assert.False(seen[index].TryAcquire());
        }

        await Task.WhenAll(seen.Select(static snapshot => snapshot.WhenFreedAsync()));
    }

    [Fact]
    public async Task Snapshots_that_stay_leased_share_the_budgets_and_never_exceed_them()
    {
        WriteAll(0);
        SiteOptions options = _site.Options with { CacheFileBytesMax = 64, CacheBytesMax = 640, DescriptorsMax = 20 };
        using var catalog = AssetCatalog.Open(options);
        var leased = new List<CatalogSnapshot>();
        for (byte i = 1; i <= 3; i++)
        {
            leased.Add(catalog.Acquire());
            WriteAll(i);
            catalog.Reload();
        }

        // Two versions have their full share; the third and fourth find nothing left, and still serve everything from the files.
        Assert.Equal([640, 640, 0], leased.Select(snapshot => snapshot.Totals.InMemoryBytes));
        Assert.Equal([10, 10, 0], leased.Select(snapshot => snapshot.Totals.Descriptors));
        Assert.Equal(1280, catalog.InMemoryBytesHeld);
        Assert.Equal(20, catalog.DescriptorsHeld);
        Assert.Equal(new string('\x3', 64), catalog.Current.Body("/small0"));

        foreach (CatalogSnapshot snapshot in leased)
        {
            snapshot.Release();
            await snapshot.WhenFreedAsync();
        }

        catalog.Reload();
        Assert.Equal(640, catalog.Current.Totals.InMemoryBytes);
        Assert.Equal(10, catalog.Current.Totals.Descriptors);

        void WriteAll(byte version)
        {
            for (int i = 0; i < 10; i++)
            {
                _site.File($"small{i}", [.. Enumerable.Repeat(version, 64)]);
                _site.File($"large{i}", [.. Enumerable.Repeat(version, 1000)]);
            }
        }
    }

    [Fact]
    public async Task Snapshots_of_an_unchanged_site_cost_no_more_than_one()
    {
        _site.File("memory.txt", "x");
        _site.File("held.bin", new byte[100_000]);
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        var leased = new List<CatalogSnapshot>();
        for (int i = 0; i < 5; i++)
        {
            leased.Add(catalog.Acquire());
            catalog.Reload();
        }

        Assert.Equal(64, catalog.InMemoryBytesHeld);
        Assert.Equal(1, catalog.DescriptorsHeld);
        leased.ForEach(snapshot => snapshot.Release());
        await Task.WhenAll(leased.Select(snapshot => snapshot.WhenFreedAsync()));
        Assert.Equal("x", catalog.Current.Body("/memory.txt"));
        Assert.Equal(2, _site.OpenDescriptorCount());
    }

    [Fact]
    public void A_reload_that_fails_leaves_the_site_as_it_was()
    {
        _site.File("a.txt", "a");
        _site.File("b.txt", "b");
        using var catalog = AssetCatalog.Open(_site.Options with { EntriesMax = 2, CacheFileBytesMax = 0 });
        CatalogSnapshot before = catalog.Current;
        _site.File("c.txt", "c");

        Assert.Throws<SiteException>(catalog.Reload);

        Assert.Same(before, catalog.Current);
        Assert.Equal("a", catalog.Current.Body("/a.txt"));
        Assert.Equal(3, _site.OpenDescriptorCount());
    }

    [Fact]
    public void A_reload_sees_a_root_whose_symlink_was_swapped()
    {
        Directory.CreateDirectory(Path.Combine(_site.Root, "one"));
        Directory.CreateDirectory(Path.Combine(_site.Root, "two"));
        _site.File("one/f.txt", "one");
        _site.File("two/f.txt", "two");
        _site.Symlink("current", "one");
        using var catalog = AssetCatalog.Open(new SiteOptions { Root = _site.PathOf("current"), CacheFileBytesMax = 0, DescriptorsMax = 0 });
        CatalogSnapshot first = catalog.Acquire();
        _site.Symlink("next", "two");
        Assert.Equal(0, TestCalls.Rename(_site.PathOf("next"), _site.PathOf("current")));

        catalog.Reload();

        Assert.Equal("two", catalog.Current.Body("/f.txt"));
        Assert.Equal("one", first.Body("/f.txt"));
        first.Release();
    }
}
