using System.Text;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>Whether a check of the disk sees what changed, and only that.</summary>
public sealed class FreshnessTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData("/d/f.txt")]
    [InlineData("/d/")]
    [InlineData("/d")]
    [InlineData("/d/nothing")]
    [InlineData("/no/such/path")]
    [InlineData("/")]
    [InlineData("")]
    [InlineData("*")]
    public async Task What_did_not_change_is_current(string path)
    {
        _site.File("d/f.txt", "x");
        _site.File("d/index.html", "x");
        _site.File("_headers", "x");
        using AssetCatalog catalog = await _site.OpenSettledAsync();

        Assert.Equal((Freshness.Current, null), Check(catalog, path));
    }

    [Fact]
    public async Task A_file_that_changed_in_place_is_its_directorys_change()
    {
        _site.File("d/f.txt", "before");
        _site.File("d/index.html", "before");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        _site.File("d/f.txt", "after");
        Assert.Equal((Freshness.DirectoryChanged, "/d"), Check(catalog, "/d/f.txt"));
        Assert.Equal(Freshness.Current, Check(catalog, "/d/").Freshness);

        _site.File("d/index.html", "after");
        Assert.Equal((Freshness.DirectoryChanged, "/d"), Check(catalog, "/d/"));
        await TempSite.SettleAsync();
        catalog.Refresh("/d");
        Assert.Equal(Freshness.Current, Check(catalog, "/d/f.txt").Freshness);
    }

    [Fact]
    public async Task A_sibling_that_changed_in_place_is_seen_through_its_original()
    {
        DateTime time = DateTime.UtcNow.AddDays(-1);
        File.SetLastWriteTimeUtc(_site.File("a.js", "x"), time);
        _site.File("a.js.gz", "before");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Assert.Equal(Freshness.Current, Check(catalog, "/a.js").Freshness);

        _site.File("a.js.gz", "after");

        Assert.Equal((Freshness.DirectoryChanged, ""), Check(catalog, "/a.js"));
    }

    [Fact]
    public async Task What_appeared_or_went_is_seen_where_it_is_asked_for()
    {
        _site.File("d/f.txt", "x");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        _site.File("d/new/deep/f.txt", "x");
        Assert.Equal((Freshness.DirectoryChanged, "/d"), Check(catalog, "/d/new/deep/f.txt"));
        Assert.Equal(Freshness.Current, Check(catalog, "/other").Freshness);

        Directory.Delete(_site.PathOf("d"), recursive: true);
        Assert.Equal((Freshness.DirectoryChanged, "/d"), Check(catalog, "/d/f.txt"));
        Assert.Equal((Freshness.DirectoryChanged, ""), Check(catalog, "/d"));
        await TempSite.SettleAsync();
        catalog.Refresh("/d");
        Assert.Equal(Freshness.Current, Check(catalog, "/d/f.txt").Freshness);
    }

    [Fact]
    public async Task A_directory_that_changed_just_before_it_was_listed_is_listed_again()
    {
        using AssetCatalog catalog = RecentWrite.Check(
            () =>
            {
                // What is written over is no change of its directory.
                File.Delete(_site.PathOf("f.txt"));
                _site.File("f.txt", "x");
                return _site.Open();
            },
            static opened => Check(opened, "/nothing") == (Freshness.DirectoryChanged, ""));
        await TempSite.SettleAsync();

        catalog.Refresh("");

        Assert.Equal(Freshness.Current, Check(catalog, "/f.txt").Freshness);
    }

    [Fact]
    public async Task Rules_that_changed_or_came_are_the_roots_change_wherever_one_asks()
    {
        _site.File("d/f.txt", "x");
        _site.File("_headers", "before");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        _site.File("_headers", "after, longer");
        Assert.Equal((Freshness.DirectoryChanged, ""), Check(catalog, "/d/f.txt"));
        await TempSite.SettleAsync();
        catalog.Refresh("");
        Assert.Equal(Freshness.Current, Check(catalog, "/d/f.txt").Freshness);

        _site.File("_redirects", "x");
        Assert.Equal((Freshness.DirectoryChanged, ""), Check(catalog, "/d/f.txt"));
    }

    [Fact]
    public async Task A_root_whose_name_leads_elsewhere_is_to_be_reloaded()
    {
        _site.File("one/f.txt", "one");
        _site.File("two/f.txt", "two");
        _site.Symlink("current", "one");
        await TempSite.SettleAsync();
        using var catalog = AssetCatalog.Open(new SiteOptions { Root = _site.PathOf("current") });
        Assert.Equal(Freshness.Current, Check(catalog, "/f.txt").Freshness);
        _site.Symlink("next", "two");
        _site.Move("next", "current");

        Assert.Equal(Freshness.RootChanged, Check(catalog, "/f.txt").Freshness);
        File.Delete(_site.PathOf("current"));
        Assert.Equal(Freshness.RootChanged, Check(catalog, "/f.txt").Freshness);
    }

    [Theory]
    [InlineData("link.txt", "/link.txt")]
    [InlineData("folder/index.html", "/folder/")]
    [InlineData("page.html", "/page")]
    [InlineData("script.js.br", "/script.js")]
    [InlineData("gone", "/gone/deep/f.txt")]
    public async Task A_symlink_to_nothing_is_followed_again_as_soon_as_its_target_is_there(string link, string path)
    {
        _site.File("script.js", "x");
        _site.File("folder/f.txt", "x");
        _site.Symlink(link, (link.StartsWith("folder/", StringComparison.Ordinal) ? "../" : "") + "store/target");
        _site.EmptyDirectory("store");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Assert.Equal(Freshness.Current, Check(catalog, path).Freshness);

        _site.File(link == "gone" ? "store/target/deep/f.txt" : "store/target", "there");

        Assert.Equal(Freshness.Doubtful, Check(catalog, path).Freshness);
        Assert.Equal(Freshness.Current, Check(catalog, "/other.txt").Freshness);
        await TempSite.SettleAsync();
        catalog.Refresh("", "/folder");
        Assert.Equal(Freshness.Current, Check(catalog, path).Freshness);
    }

    [Theory]
    [InlineData("d/f.txt", "/d/f.txt")]
    [InlineData("d", "/d/f.txt")]
    public async Task What_other_users_could_not_read_is_checked_again_when_they_may(string closed, string path)
    {
        _site.File("d/f.txt", "x");
        _site.Close(closed);
        await TempSite.SettleAsync();
        using AssetCatalog catalog = TestThread.AsNobody(() =>
        {
            AssetCatalog opened = _site.Open();
            Assert.Equal(Freshness.Current, Check(opened, path).Freshness);
            return opened;
        });

        // Who is not root has to change the rights, and with them a time; a server on the network need not.
        if (!Environment.IsPrivilegedProcess)
        {
            TempSite.Unlock(_site.PathOf(closed));
        }

        Assert.Equal((Freshness.Doubtful, "/d"), Check(catalog, path));

        catalog.Refresh("/d");
        Assert.Equal("x", catalog.Current.Body("/d/f.txt"));
        Assert.Equal(Freshness.Current, Check(catalog, path).Freshness);
    }

    private static (Freshness Freshness, string? Changed) Check(AssetCatalog catalog, string path)
    {
        Freshness freshness = FreshnessCheck.Of(Encoding.UTF8.GetBytes(path), catalog.Current, out SiteDirectory? changed);
        return (freshness, changed is null ? null : Encoding.UTF8.GetString(changed.Path));
    }
}
