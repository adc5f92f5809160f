using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Tests.Watching;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>The files with which a site brings its own rules.</summary>
public sealed class RuleFilesTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Fact]
    public void They_are_not_served_nor_listed_in_the_root()
    {
        _site.File("_headers", "x");
        _site.File("_redirects", "x");
        _site.File("d/_headers", "served");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(PathMatch.None, catalog.Current.Match("/_headers"));
        Assert.Equal(PathMatch.None, catalog.Current.Match("/_redirects"));
        Assert.Equal(["d/"], catalog.Current.Names("/"));
        Assert.Equal("served", catalog.Current.Body("/d/_headers"));
        Assert.Equal(0, catalog.Current.SkippedCount);
    }

    [Fact]
    public void They_are_files_like_others_where_they_are_off()
    {
        _site.File("_headers", "x");
        using var catalog = AssetCatalog.Open(_site.Options with { SiteFiles = false });

        Assert.Equal("x", catalog.Current.Body("/_headers"));
    }

    [Fact]
    public async Task They_are_compiled_again_when_they_change_and_only_then()
    {
        _site.File("_headers", "one");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        SiteRules first = catalog.Current.Rules;
        _site.File("f.txt", "x");
        catalog.Refresh("");
        catalog.Reload();
        Assert.Same(first, catalog.Current.Rules);

        _site.File("_headers", "two");
        await TempSite.SettleAsync();
        catalog.Refresh("");
        SiteRules second = catalog.Current.Rules;
        Assert.NotSame(first, second);
        catalog.Refresh("");
        Assert.Same(second, catalog.Current.Rules);

        _site.File("_redirects", "x");
        catalog.Refresh("");
        Assert.NotSame(second, catalog.Current.Rules);
    }

    [Fact]
    public async Task One_that_is_too_large_or_unreadable_is_refused_at_start()
    {
        _site.File("_headers", new byte[(1024 * 1024) + 1]);
        var tooLarge = Assert.Throws<SiteException>(_site.Open);
        Assert.Contains("_headers", tooLarge.Cause, StringComparison.Ordinal);
        Assert.Contains(nameof(SiteOptions.SiteFiles), tooLarge.Remedy, StringComparison.Ordinal);
        _site.File("_headers", new byte[1024 * 1024]);
        _site.Open().Dispose();

        _site.File("_redirects", "x");
        _site.Close("_redirects");
        TempSite.Unlock(_site.Outside);
        Assert.Contains("_redirects", Assert.Throws<SiteException>(() => TestThread.AsNobody(_site.Open)).Cause, StringComparison.Ordinal);
        // The root of the one that was opened and disposed is closed on the thread pool.
        await TempSite.UntilAsync(() => _site.OpenDescriptorCount() == 0);
    }

    [Theory]
    [InlineData("_headers", "/*\n X: y\n")]
    [InlineData("_redirects", "/a /b 302!\n")]
    public void One_that_is_deleted_as_soon_as_it_was_read_has_no_rules_any_more(string name, string text)
    {
        using AssetCatalog catalog = _site.Open();
        SiteRules none = catalog.Current.Rules;
        foreach (bool reloads in (bool[])[false, true])
        {
            _site.File(name, text);
            catalog.Refresh("");
            Assert.True(HasRules(catalog));
            File.Delete(_site.PathOf(name));
            if (reloads)
            {
                catalog.Reload();
            }
            else
            {
                catalog.Refresh("");
            }

            Assert.False(HasRules(catalog));
        }

        Assert.NotSame(none, catalog.Current.Rules);
    }

    private static bool HasRules(AssetCatalog catalog) =>
        !catalog.Current.Rules.ForcedRoutes.IsEmpty || catalog.Current.Rules.Fields("/f.txt").Contains("X: y");

    [Fact]
    public void One_that_cannot_be_read_later_leaves_the_rules_as_they_were_and_is_noted()
    {
        _site.File("_headers", "x");
        using AssetCatalog catalog = _site.Open();
        SiteRules rules = catalog.Current.Rules;
        _site.File("_headers", new byte[(1024 * 1024) + 1]);
        _site.File("f.txt", "new");

        catalog.Refresh("");

        Assert.Same(rules, catalog.Current.Rules);
        Assert.Equal(SkipReason.TooLarge, catalog.Current.ReasonFor("/_headers"));
        Assert.Equal("new", catalog.Current.Body("/f.txt"));
    }

    [Fact]
    public async Task One_that_failed_by_a_passing_error_is_read_at_the_next_check_and_was_logged_once()
    {
        _site.File("_headers", "/*\n X: one\n");
        await TempSite.SettleAsync();
        using var log = new RecordingLog();
        using Site site = Site.Open(_site.Options with { Watch = WatchMode.Off }, log);
        string path = _site.File("_headers", "/*\n X: two\n");
        await TempSite.SettleAsync();
        using (new FileLease(path))
        {
            for (int i = 0; i < 2; i++)
            {
                site.Catalog.Refresh("");
                Assert.Contains("X: one", site.Catalog.Current.Rules.Fields("/f.txt"));
                Assert.Equal(SkipReason.IoError, site.Catalog.Current.ReasonFor("/_headers"));
            }
        }

        Assert.Contains("_headers", Assert.Single(log.Lines(424)), StringComparison.Ordinal);
        site.Catalog.Refresh("");

        Assert.Contains("X: two", site.Catalog.Current.Rules.Fields("/f.txt"));
        Assert.Empty(site.Catalog.Current.Skipped);
    }

    [Fact]
    public async Task One_that_stays_refused_stays_noted_and_is_logged_again_when_it_is_another()
    {
        _site.File("_headers", "x");
        using var log = new RecordingLog();
        using Site site = Site.Open(_site.Options with { Watch = WatchMode.Off }, log);
        for (int state = 1; state < 3; state++)
        {
            _site.File("_headers", new byte[(1024 * 1024) + state]);
            await TempSite.SettleAsync();
            for (int i = 0; i < 2; i++)
            {
                _site.File($"f{i}.txt", $"{state}");
                site.Catalog.Refresh("");
                Assert.Equal(SkipReason.TooLarge, site.Catalog.Current.ReasonFor("/_headers"));
                Assert.Equal(state, log.Lines(424).Count());
            }
        }
    }

    [Theory]
    [InlineData("../secret")]
    [InlineData("_headers")]
    public async Task Rules_that_stayed_because_the_next_were_refused_go_with_those(string target)
    {
        File.WriteAllText(Path.Combine(_site.Outside, "secret"), "x");
        _site.File("_headers", "/*\n X: one\n");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        File.Delete(_site.PathOf("_headers"));
        _site.Symlink("_headers", target);
        catalog.Refresh("");
        Assert.Contains("X: one", catalog.Current.Rules.Fields("/f.txt"));
        Assert.NotEmpty(catalog.Current.Skipped);
        await TempSite.SettleAsync();
        catalog.Refresh("");
        Assert.Equal(Freshness.Current, FreshnessCheck.Of("/d/f.txt"u8, catalog.Current, out _));

        File.Delete(_site.PathOf("_headers"));
        catalog.Refresh("");

        Assert.DoesNotContain("X: one", catalog.Current.Rules.Fields("/f.txt"));
        Assert.Empty(catalog.Current.Skipped);
    }

    [Fact]
    public void One_that_leads_out_of_the_root_is_refused_and_a_directory_of_that_name_is_just_one()
    {
        File.WriteAllText(Path.Combine(_site.Outside, "secret"), "x");
        _site.File("_redirects/index.html", "directory");
        _site.Open().Dispose();

        _site.Symlink("_headers", "../secret");
        Assert.Throws<SiteException>(_site.Open);
    }
}
