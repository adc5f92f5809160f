using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>What a snapshot takes from the one before, and what it reads again.</summary>
public sealed class CarryOverTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Fact]
    public async Task A_reload_opens_only_what_changed_and_shares_the_rest()
    {
        _site.File("memory.txt", "same");
        _site.File("held.bin", new byte[100_000]);
        _site.File("changes.txt", "before");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Asset inMemory = catalog.Current.Asset("/memory.txt");
        Asset held = catalog.Current.Asset("/held.bin");
        inMemory.Http1Fields = new object();
        _site.File("changes.txt", "after");
        using var watch = new OpenWatch(_site.Root);

        catalog.Reload();

        Assert.Equal(["", "changes.txt"], watch.OpenedNames().Order());
        Assert.Same(inMemory, catalog.Current.Asset("/memory.txt"));
        Assert.NotNull(catalog.Current.Asset("/memory.txt").Http1Fields);
        Assert.Same(held, catalog.Current.Asset("/held.bin"));
        Assert.Equal("after", catalog.Current.Body("/changes.txt"));
        Assert.Equal(1, catalog.DescriptorsHeld);
    }

    [Fact]
    public async Task A_refresh_opens_only_what_changed()
    {
        _site.File("d/same.txt", "same");
        _site.File("d/below/same.txt", "same");
        _site.File("d/changes.txt", "before");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Asset same = catalog.Current.Asset("/d/same.txt");
        Asset below = catalog.Current.Asset("/d/below/same.txt");
        _site.File("d/changes.txt", "after");
        using var watch = new OpenWatch(_site.PathOf("d"));

        catalog.Refresh("/d");

        Assert.Equal(["", "changes.txt"], watch.OpenedNames().Order());
        Assert.Same(same, catalog.Current.Asset("/d/same.txt"));
        Assert.Same(below, catalog.Current.Asset("/d/below/same.txt"));
    }

    [Fact]
    public async Task Another_file_of_the_same_name_size_and_time_is_another_asset()
    {
        var time = new DateTime(2024, 1, 1, 0, 0, 0, DateTimeKind.Utc);
        File.SetLastWriteTimeUtc(_site.File("in-place.txt", "one"), time);
        File.SetLastWriteTimeUtc(_site.File("replaced.txt", "one"), time);
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        File.SetLastWriteTimeUtc(_site.File("in-place.txt", "two"), time);
        File.SetLastWriteTimeUtc(_site.File("next", "two"), time);
        _site.Move("next", "replaced.txt");

        catalog.Refresh("");

        Assert.Equal("two", catalog.Current.Body("/in-place.txt"));
        Assert.Equal("two", catalog.Current.Body("/replaced.txt"));
    }

    [Fact]
    public void A_file_written_shortly_before_it_was_read_is_read_again()
    {
        // Where the kernel's clock ticks slowly, a second write within the tick leaves no trace in any time.
        using AssetCatalog catalog = RecentWrite.Check(
            () =>
            {
                _site.File("f.txt", "just written");
                return _site.Open();
            },
            static opened => !opened.Current.Asset("/f.txt").IsSettled);
        Asset first = catalog.Current.Asset("/f.txt");

        catalog.Refresh("");

        Assert.NotSame(first, catalog.Current.Asset("/f.txt"));
    }

    [Fact]
    public async Task What_found_no_room_is_loaded_again_when_there_is()
    {
        _site.File("big", new byte[640]);
        _site.File("small", new byte[64]);
        await TempSite.SettleAsync();
        using var catalog = AssetCatalog.Open(
            _site.Options with { CacheFileBytesMax = 640, CacheBytesMax = 640, DescriptorsMax = 0 });
        Assert.Equal(BodyStrategy.SingleRead, catalog.Current.Asset("/big").Strategy);
        Asset small = catalog.Current.Asset("/small");
        catalog.Refresh("");
        Assert.Same(small, catalog.Current.Asset("/small"));
        Assert.Equal(BodyStrategy.SingleRead, catalog.Current.Asset("/big").Strategy);
        File.Delete(_site.PathOf("small"));

        catalog.Refresh("");

        Assert.Equal(BodyStrategy.InMemory, catalog.Current.Asset("/big").Strategy);
        Assert.Equal(640, catalog.Current.Totals.InMemoryBytes);
    }

    [Fact]
    public async Task What_stays_counts_before_what_is_new()
    {
        _site.File("a/stays", new byte[640]);
        await TempSite.SettleAsync();
        using var catalog = AssetCatalog.Open(
            _site.Options with { CacheFileBytesMax = 640, CacheBytesMax = 640, DescriptorsMax = 2, ReadBytesMax = 0 });
        _site.File("b/new", new byte[1]);
        _site.File("b/streamed1", new byte[1000]);
        _site.File("b/streamed2", new byte[1000]);
        await TempSite.SettleAsync();

        catalog.Refresh("");
        catalog.Reload();

        // 640 of memory and one descriptor are a version's share.
        Assert.Equal(640, catalog.Current.Totals.InMemoryBytes);
        Assert.Equal(1, catalog.Current.Totals.Descriptors);
        Assert.Equal(4, catalog.Current.AssetCount);
        Assert.Equal("\0", catalog.Current.Body("/b/new"));
    }

    [Fact]
    public async Task Totals_are_those_of_a_fresh_walk_after_any_changes()
    {
        _site.File("a/1", new byte[100]);
        _site.File("a/b/2", new byte[100_000]);
        _site.File("c/3", new byte[300_000]);
        _site.Symlink("c/dangling", "nowhere");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        _site.File("a/1", new byte[1000]);
        Directory.Delete(_site.PathOf("c"), recursive: true);
        _site.File("a/b/4", new byte[10]);
        _site.File("d/e/5", new byte[100_000]);
        _site.Symlink("d/dangling", "nowhere");
        await TempSite.SettleAsync();
        CatalogSnapshot before = catalog.Current;

        catalog.Refresh("/a", "/a/b", "");

        using AssetCatalog fresh = _site.Open();
        Assert.Equal(fresh.Current.Totals, catalog.Current.Totals);
        catalog.Reload();
        Assert.Equal(fresh.Current.Totals, catalog.Current.Totals);
        await before.WhenFreedAsync();
        Assert.Equal(2, catalog.DescriptorsHeld);
    }
}
