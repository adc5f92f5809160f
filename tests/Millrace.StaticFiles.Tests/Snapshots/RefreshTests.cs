using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>What a refresh of single directories finds, and what it leaves alone.</summary>
public sealed class RefreshTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Fact]
    public void A_file_that_came_changed_or_went_is_seen_in_the_directory_that_is_refreshed_only()
    {
        _site.File("a/stays.txt", "stays");
        _site.File("a/changes.txt", "before");
        _site.File("a/goes.txt", "goes");
        _site.File("b/other.txt", "before");
        using AssetCatalog catalog = _site.Open();
        _site.File("a/changes.txt", "afterwards");
        _site.File("a/comes.txt", "comes");
        File.Delete(_site.PathOf("a/goes.txt"));
        _site.File("b/other.txt", "afterwards");

        catalog.Refresh("/a");

        CatalogSnapshot current = catalog.Current;
        Assert.Equal("stays", current.Body("/a/stays.txt"));
        Assert.Equal("afterwards", current.Body("/a/changes.txt"));
        Assert.Equal("comes", current.Body("/a/comes.txt"));
        Assert.Equal(PathMatch.None, current.Match("/a/goes.txt"));
        Assert.Equal("before", current.Body("/b/other.txt"));
        Assert.Equal(4, current.AssetCount);

        catalog.Refresh("/b");
        Assert.Equal("afterwards", catalog.Current.Body("/b/other.txt"));
    }

    [Fact]
    public void Several_directories_are_one_swap()
    {
        _site.File("a/f.txt", "1");
        _site.File("b/f.txt", "1");
        using AssetCatalog catalog = _site.Open();
        int swaps = 0;
        catalog.Changed += () => swaps++;
        _site.File("a/f.txt", "22");
        _site.File("b/f.txt", "22");
        _site.File("f.txt", "22");

        catalog.Refresh("/b", "", "/a", "/a");

        Assert.Equal(1, swaps);
        Assert.Equal("22", catalog.Current.Body("/a/f.txt"));
        Assert.Equal("22", catalog.Current.Body("/b/f.txt"));
        Assert.Equal("22", catalog.Current.Body("/f.txt"));
    }

    [Fact]
    public async Task Nothing_new_is_no_swap()
    {
        _site.File("a/f.txt", "1");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        CatalogSnapshot before = catalog.Current;
        catalog.Changed += () => Assert.Fail("nothing changed");

        catalog.Refresh("/a", "", "/unknown", "/a/f.txt", "/", "//", "a");

        Assert.Same(before, catalog.Current);
    }

    [Fact]
    public void New_directories_are_walked_to_their_ends_and_old_ones_dropped_with_all_below()
    {
        _site.File("old/deep/er/f.txt", "old");
        using AssetCatalog catalog = _site.Open();
        Directory.Delete(_site.PathOf("old"), recursive: true);
        _site.File("new/deep/er/index.html", "new");

        catalog.Refresh("");

        CatalogSnapshot current = catalog.Current;
        Assert.Equal("new", current.Body("/new/deep/er/"));
        foreach (string path in new[] { "/old", "/old/", "/old/deep", "/old/deep/er/", "/old/deep/er/f.txt" })
        {
            Assert.Equal(PathMatch.None, current.Match(path));
        }

        Assert.Equal(4, current.DirectoryCount);
        Assert.Equal(1, current.AssetCount);
    }

    [Fact]
    public void A_directory_in_place_of_another_is_scanned_again_also_where_all_below_seems_equal()
    {
        // The inner directory is the very same one, but its symlink leads elsewhere since the outer one is another.
        _site.File("outer/inner/own.txt", "own");
        _site.Symlink("outer/inner/shared.txt", "../shared.txt");
        _site.File("outer/shared.txt", "one");
        using AssetCatalog catalog = _site.Open();
        _site.Move("outer", "away");
        _site.File("outer/shared.txt", "two, longer");
        _site.Move("away/inner", "outer/inner");

        catalog.Refresh("");

        Assert.Equal("two, longer", catalog.Current.Body("/outer/inner/shared.txt"));
        Assert.Equal("own", catalog.Current.Body("/outer/inner/own.txt"));
        Assert.Equal("one", catalog.Current.Body("/away/shared.txt"));
    }

    [Fact]
    public void Directories_that_swapped_places_are_distinguished()
    {
        _site.File("a/f.txt", "a");
        _site.File("b/f.txt", "b");
        using AssetCatalog catalog = _site.Open();
        _site.Move("a", "c");
        _site.Move("b", "a");
        _site.Move("c", "b");

        catalog.Refresh("");

        Assert.Equal("b", catalog.Current.Body("/a/f.txt"));
        Assert.Equal("a", catalog.Current.Body("/b/f.txt"));
    }

    [Fact]
    public void A_directory_that_is_refreshed_when_it_is_gone_leaves_the_one_it_was_in()
    {
        _site.File("a/b/c/f.txt", "x");
        using AssetCatalog catalog = _site.Open();
        Directory.Delete(_site.PathOf("a/b"), recursive: true);

        catalog.Refresh("/a/b/c");

        Assert.Equal(PathMatch.None, catalog.Current.Match("/a/b/c/"));
        Assert.Equal(PathMatch.None, catalog.Current.Match("/a/b"));
        Assert.Equal(PathMatch.DirectoryWithoutIndex, catalog.Current.Match("/a/"));
        Assert.Equal(2, catalog.Current.DirectoryCount);
        Assert.Equal([], catalog.Current.Names("/a/"));
    }

    [Fact]
    public void A_file_in_place_of_a_directory_and_back()
    {
        _site.File("x/f.txt", "below");
        using AssetCatalog catalog = _site.Open();
        Directory.Delete(_site.PathOf("x"), recursive: true);
        _site.File("x", "file");

        catalog.Refresh("/x");
        Assert.Equal("file", catalog.Current.Body("/x"));
        Assert.Equal(PathMatch.None, catalog.Current.Match("/x/f.txt"));

        File.Delete(_site.PathOf("x"));
        _site.File("x/f.txt", "below again");
        catalog.Refresh("");
        Assert.Equal("below again", catalog.Current.Body("/x/f.txt"));
        Assert.Equal(PathMatch.DirectoryWithoutSlash, catalog.Current.Match("/x"));
    }

    [Fact]
    public void An_index_that_comes_and_goes_is_the_directorys()
    {
        _site.File("d/page.html", "x");
        using AssetCatalog catalog = _site.Open();
        _site.File("d/index.htm", "second");
        catalog.Refresh("/d");
        Assert.Equal("second", catalog.Current.Body("/d/"));

        _site.File("d/index.html", "first");
        catalog.Refresh("/d");
        Assert.Equal("first", catalog.Current.Body("/d/"));

        File.Delete(_site.PathOf("d/index.htm"));
        File.Delete(_site.PathOf("d/index.html"));
        catalog.Refresh("/d");
        Assert.Equal(PathMatch.DirectoryWithoutIndex, catalog.Current.Match("/d/"));
    }

    [Fact]
    public void A_directory_that_two_paths_lead_to_is_refreshed_under_each()
    {
        _site.File("real/f.txt", "one");
        _site.Symlink("link", "real");
        using AssetCatalog catalog = _site.Open();
        _site.File("real/f.txt", "two, longer");

        catalog.Refresh("/real", "/link");

        Assert.Equal("two, longer", catalog.Current.Body("/real/f.txt"));
        Assert.Equal("two, longer", catalog.Current.Body("/link/f.txt"));
    }

    [Fact]
    public void A_symlink_that_is_pointed_elsewhere_is_another_directory()
    {
        _site.File("one/sub/f.txt", "one");
        _site.File("two/sub/f.txt", "two");
        _site.Symlink("current", "one");
        using AssetCatalog catalog = _site.Open();
        _site.Symlink("next", "two");
        _site.Move("next", "current");

        catalog.Refresh("");

        Assert.Equal("two", catalog.Current.Body("/current/sub/f.txt"));
    }

    [Fact]
    public void A_cycle_that_is_made_later_ends_too()
    {
        _site.File("a/b/f.txt", "x");
        using AssetCatalog catalog = _site.Open();
        _site.Symlink("a/b/up", "..");
        _site.Symlink("a/b/self", ".");

        catalog.Refresh("/a/b");

        Assert.Equal("x", catalog.Current.Body("/a/b/up/b/f.txt"));
        Assert.Equal("x", catalog.Current.Body("/a/b/self/f.txt"));
        Assert.Equal(3, catalog.Current.DirectoryCount);
    }

    [Fact]
    public void What_was_skipped_is_remembered_per_directory()
    {
        _site.Symlink("a/dangling", "nowhere");
        _site.Symlink("b/dangling", "nowhere");
        using AssetCatalog catalog = _site.Open();
        File.Delete(_site.PathOf("a/dangling"));
        _site.Fifo("a/pipe");

        catalog.Refresh("/a");

        Assert.Equal(2, catalog.Current.SkippedCount);
        Assert.Equal(["/a/pipe", "/b/dangling"], catalog.Current.Skipped.Select(entry => entry.Path).Order());
        Directory.Delete(_site.PathOf("b"), recursive: true);
        catalog.Refresh("");
        Assert.Equal("/a/pipe", Assert.Single(catalog.Current.Skipped).Path);
        Assert.Equal(1, catalog.Current.SkippedCount);
    }

    [Fact]
    public async Task The_limit_of_entries_is_the_whole_sites_and_a_refresh_beyond_it_changes_nothing()
    {
        _site.File("a/1", "x");
        _site.File("b/2", "x");
        using var catalog = AssetCatalog.Open(_site.Options with { EntriesMax = 5 });
        for (int i = 0; i < 3; i++)
        {
            // As often as it is listed, a directory counts once.
            _site.File("a/1", $"change {i}");
            catalog.Refresh("/a", "");
        }

        CatalogSnapshot before = catalog.Current;
        // What the changes before dropped is freed on the thread pool.
        await TempSite.UntilAsync(() => catalog.InMemoryBytesHeld == before.Totals.InMemoryBytes);
        _site.File("a/3", "x");
        _site.File("a/4", "x");

        Assert.Throws<SiteException>(() => catalog.Refresh("/a"));

        Assert.Same(before, catalog.Current);
        Assert.Equal(before.Totals.InMemoryBytes, catalog.InMemoryBytesHeld);
        File.Delete(_site.PathOf("a/4"));
        catalog.Refresh("/a");
        Assert.Equal("x", catalog.Current.Body("/a/3"));
    }

    [Fact]
    public void A_directory_that_moves_counts_once_however_near_the_limit_is()
    {
        for (int i = 0; i < 4; i++)
        {
            _site.File($"a/{i}", "x");
        }

        using var catalog = AssetCatalog.Open(_site.Options with { EntriesMax = 6 });
        _site.Move("a", "b");

        catalog.Refresh("");

        Assert.Equal("x", catalog.Current.Body("/b/3"));
        _site.File("b/4", "x");
        catalog.Refresh("/b");
        _site.File("b/5", "x");
        Assert.Throws<SiteException>(() => catalog.Refresh("/b"));
        Assert.Throws<SiteException>(catalog.Reload);
    }

    [Fact]
    public void A_root_that_was_removed_fails_and_the_site_stays()
    {
        _site.File("f.txt", "x");
        using AssetCatalog catalog = _site.Open();
        CatalogSnapshot before = catalog.Current;
        Directory.Delete(_site.Root, recursive: true);

        Assert.Throws<SiteException>(() => catalog.Refresh(""));
        Assert.Throws<SiteException>(catalog.Reload);

        Assert.Same(before, catalog.Current);
        Assert.Equal("x", catalog.Current.Body("/f.txt"));
        _site.File("f.txt", "back");
        catalog.Reload();
        Assert.Equal("back", catalog.Current.Body("/f.txt"));
    }

    [Fact]
    public void A_directory_that_could_not_be_read_is_tried_again_with_the_one_it_is_in()
    {
        _site.File("d/f.txt", "x");
        _site.Close("d");
        TempSite.Unlock(_site.Outside);
        using AssetCatalog catalog = TestThread.AsNobody(_site.Open);
        Assert.Equal(PathMatch.None, catalog.Current.Match("/d/f.txt"));
        Assert.Equal(SkipReason.Unreadable, catalog.Current.ReasonFor("/d"));
        TempSite.Unlock(_site.PathOf("d"));

        catalog.Refresh("");

        Assert.Equal("x", catalog.Current.Body("/d/f.txt"));
        Assert.Equal(0, catalog.Current.SkippedCount);
    }
}
