using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>
/// A refresh of some names of a directory: reads these and nothing else, unless it finds more than files and directories.
/// </summary>
public sealed class RefreshByNameTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();
    private readonly RecordingObserver _observer = new();

    public void Dispose() => _site.Dispose();

    [Fact]
    public async Task Names_that_came_changed_or_went_are_read_and_others_are_not()
    {
        _site.File("a/changes.txt", "before");
        _site.File("a/goes.txt", "goes");
        _site.File("a/other.txt", "before");
        _site.File("a/subdirectory/goes.txt", "goes");
        await TempSite.SettleAsync();
        using AssetCatalog catalog = Open();
        _site.File("a/changes.txt", "afterwards");
        _site.File("a/comes.txt", "comes");
        _site.File("a/new/page.txt", "in a new directory");
        File.Delete(_site.PathOf("a/goes.txt"));
        Directory.Delete(_site.PathOf("a/subdirectory"), recursive: true);
        _site.File("a/other.txt", "unseen so far");

        catalog.RefreshNames("/a", "changes.txt", "comes.txt", "new", "goes.txt", "subdirectory", ".hidden", "never.txt");

        Assert.Equal(["/a"], _observer.Kept);
        Assert.Equal(["/a/new"], _observer.Entered);
        Assert.Equal(["/a/subdirectory"], _observer.LeftPaths);
        Assert.Equal("afterwards", catalog.Current.Body("/a/changes.txt"));
        Assert.Equal("in a new directory", catalog.Current.Body("/a/new/page.txt"));
        Assert.Equal("before", catalog.Current.Body("/a/other.txt"));
        Assert.Equal(["changes.txt", "comes.txt", "new/", "other.txt"], catalog.Current.Names("/a/").Order(StringComparer.Ordinal));
        Assert.Equal(PathMatch.None, catalog.Current.Match("/a/goes.txt"));

        catalog.RefreshNames("/a", "other.txt");
        Assert.Equal("unseen so far", catalog.Current.Body("/a/other.txt"));
    }

    [Fact]
    public async Task A_directory_read_by_names_is_listed_whole_by_the_next_who_asks_for_all_of_it()
    {
        _site.File("a/one.txt", "before");
        _site.File("a/two.txt", "before");
        using AssetCatalog catalog = Open();
        await TempSite.SettleAsync();
        _site.File("a/one.txt", "afterwards");
        _site.File("a/three.txt", "reported later, or never");
        catalog.RefreshNames("/a", "one.txt");
        Assert.Equal(PathMatch.None, catalog.Current.Match("/a/three.txt"));
        Assert.Equal(Freshness.DirectoryChanged, FreshnessCheck.Of("/a/three.txt"u8, catalog.Current, out _));

        catalog.RefreshNames("", "a");

        Assert.Equal("reported later, or never", catalog.Current.Body("/a/three.txt"));
    }

    [Theory]
    [InlineData("a symlink there before")]
    [InlineData("a symlink now")]
    [InlineData("a second name")]
    [InlineData("something not served before")]
    [InlineData("something not served now")]
    public void What_is_more_than_files_and_directories_has_the_directory_listed_whole(string what)
    {
        _site.File("a/file.txt", "before");
        _site.File("a/other.txt", "before");
        void Make(bool isNow)
        {
            switch (what)
            {
                case "a symlink there before" when !isNow:
                case "a symlink now" when isNow:
                    _site.Symlink("a/link.txt", "file.txt");
                    break;
                case "a second name" when isNow:
                    Assert.Equal(0, TestCalls.Link(_site.PathOf("a/file.txt"), _site.PathOf("a/link.txt")));
                    break;
                case "something not served before" when !isNow:
                case "something not served now" when isNow:
                    _site.Fifo("a/link.txt");
                    break;
            }
        }

        Make(isNow: false);
        using AssetCatalog catalog = Open();
        _site.File("a/file.txt", "afterwards");
        Make(isNow: true);
        _site.File("a/other.txt", "seen only in a whole listing");

        catalog.RefreshNames("/a", "file.txt", "link.txt");

        Assert.Equal(["/a"], _observer.Entered);
        Assert.Equal("afterwards", catalog.Current.Body("/a/file.txt"));
        Assert.Equal("seen only in a whole listing", catalog.Current.Body("/a/other.txt"));
    }

    [Fact]
    public void A_directory_in_place_of_another_is_listed_whole()
    {
        _site.File("a/file.txt", "before");
        using AssetCatalog catalog = Open();
        _site.Move("a", ".old");
        _site.File("a/another.txt", "of the new one");

        catalog.RefreshNames("/a", "file.txt");

        Assert.Equal(["/a"], _observer.Entered);
        Assert.Equal(["another.txt"], catalog.Current.Names("/a/"));
    }

    [Fact]
    public void A_rule_file_that_is_named_is_read_again()
    {
        _site.File("page.html", "page");
        using AssetCatalog catalog = Open();
        SiteRules before = catalog.Current.Rules;
        _site.File("_headers", "/*\n  X-Rule: yes\n");

        catalog.RefreshNames("", "_headers");

        Assert.NotSame(before, catalog.Current.Rules);
        Assert.Equal(PathMatch.None, catalog.Current.Match("/_headers"));
    }

    [Fact]
    public async Task Whether_a_name_carries_a_hash_is_decided_again_when_names_beside_it_come_and_go()
    {
        _site.File("a/index.html", "page");
        _site.File("a/lib-DiwrgT4a.js", "words, or a hash");
        _site.File("a/x-BkX3f9aQ.js", "a hash");
        await TempSite.SettleAsync();
        using AssetCatalog catalog = Open();
        Asset asset = catalog.Current.Asset("/a/lib-DiwrgT4a.js");
        Assert.False(asset.HasHashedName);
        Assert.True(catalog.Current.Asset("/a/x-BkX3f9aQ.js").HasHashedName);

        _site.File("a/y-Hk7xQwTz.css", "another");
        catalog.RefreshNames("/a", "y-Hk7xQwTz.css");
        Assert.Same(asset, catalog.Current.Asset("/a/lib-DiwrgT4a.js"));
        Assert.True(asset.HasHashedName);
        Assert.False(catalog.Current.Asset("/a/index.html").HasHashedName);

        File.Delete(_site.PathOf("a/x-BkX3f9aQ.js"));
        catalog.RefreshNames("/a", "x-BkX3f9aQ.js");
        Assert.False(catalog.Current.Asset("/a/lib-DiwrgT4a.js").HasHashedName);

        _site.File("a/x-BkX3f9aQ.js", "a hash");
        catalog.Refresh("/a");
        Assert.True(catalog.Current.Asset("/a/lib-DiwrgT4a.js").HasHashedName);
    }

    private AssetCatalog Open()
    {
        var catalog = AssetCatalog.Open(_site.Options, _observer);
        _observer.Clear();
        return catalog;
    }
}
