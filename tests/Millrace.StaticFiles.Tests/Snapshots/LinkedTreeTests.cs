using System.Text;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Tests.Watching;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>Trees in which symlinks lead to directories by many ways: each directory is read once, and answers by all of them.</summary>
public sealed class LinkedTreeTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData(6)]
    [InlineData(9)]
    [InlineData(60)]
    public void Packages_that_link_each_other_cost_what_their_files_do(int count)
    {
        for (int i = 0; i < count; i++)
        {
            _site.File($"packages/p{i}/index.js", $"{i}");
            for (int j = 0; j < count; j++)
            {
                if (i != j)
                {
                    _site.Symlink($"packages/p{i}/node_modules/p{j}", $"../../p{j}");
                }
            }
        }

        using AssetCatalog catalog = _site.Open();

        Assert.Equal((count, 2 + (2 * count)), (catalog.Current.AssetCount, catalog.Current.DirectoryCount));
        Assert.Equal("4", catalog.Current.Body("/packages/p3/node_modules/p4/index.js"));
        Assert.Equal("2", catalog.Current.Body("/packages/p3/node_modules/p4/node_modules/p5/node_modules/p2/index.js"));
        Assert.Same(catalog.Current.Asset("/packages/p4/index.js"), catalog.Current.Asset("/packages/p3/node_modules/p4/index.js"));
        Assert.Equal(PathMatch.None, catalog.Current.Match("/packages/p3/node_modules/p3/index.js"));
    }

    [Fact]
    public void Packages_of_a_hidden_store_as_pnpm_makes_it_are_each_read_once()
    {
        const int Count = 9;
        for (int i = 0; i < Count; i++)
        {
            _site.File($"node_modules/.pnpm/p{i}@1/node_modules/p{i}/lib/index.js", $"{i}");
            for (int j = 0; j < Count; j++)
            {
                if (i != j)
                {
                    string link = $"node_modules/.pnpm/p{i}@1/node_modules/p{i}/node_modules/p{j}";
                    _site.Symlink(link, $"../../../../p{j}@1/node_modules/p{j}");
                }
            }

            _site.Symlink($"node_modules/p{i}", $".pnpm/p{i}@1/node_modules/p{i}");
        }

        using AssetCatalog catalog = _site.Open();

        Assert.Equal((Count, 2 + (3 * Count)), (catalog.Current.AssetCount, catalog.Current.DirectoryCount));
        Assert.Equal("3", catalog.Current.Body("/node_modules/p3/lib/index.js"));
        Assert.Equal("5", catalog.Current.Body("/node_modules/p3/node_modules/p4/node_modules/p5/lib/index.js"));
        Assert.Equal(PathMatch.None, catalog.Current.Match("/node_modules/.pnpm/p3@1/node_modules/p3/lib/index.js"));
    }

    [Fact]
    public void A_link_of_the_root_to_itself_is_answered_as_deep_as_the_kernel_follows_it()
    {
        _site.File("file", "f");
        _site.Symlink("x", ".");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal("f", catalog.Current.Body("/x/file"));
        Assert.Equal(PathMatch.DirectoryWithoutSlash, catalog.Current.Match("/x"));
        Assert.Equal(["x/", "file"], catalog.Current.Names("/x/"));
        using var root = RootDirectory.Open(_site.Root);
        foreach (int depth in (int[])[2, 39, 40, 41, 100])
        {
            string path = string.Concat(Enumerable.Repeat("/x", depth)) + "/file";
            bool isServed = root.Stat(Encoding.ASCII.GetBytes(path[1..] + "\0"), out _) == 0;
            Assert.Equal(isServed ? PathMatch.Asset : PathMatch.None, catalog.Current.Match(path));
        }
    }

    [Fact]
    public void A_listing_has_the_directories_that_links_lead_to_among_the_others()
    {
        _site.File("b/f", "");
        _site.EmptyDirectory("d");
        _site.Symlink("a", "b");
        _site.Symlink("c", "b");
        _site.Symlink("e", "b");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(["a/", "b/", "c/", "d/", "e/"], catalog.Current.Names("/"));
    }

    [Theory]
    [InlineData("b")]
    [InlineData(".store/b")]
    public async Task A_change_in_a_shared_directory_shows_by_all_its_ways(string home)
    {
        _site.File($"{home}/f", "one");
        _site.Symlink("a", home);
        _site.Symlink("c", home);
        _site.Symlink("d/e", $"../{home}");
        using var site = new LiveSite(_site);
        string[] ways = ["/a", "/c", "/d/e"];
        Assert.All(ways, way => Assert.Equal("one", site.Body($"{way}/f")));

        await File.WriteAllTextAsync(_site.PathOf($"{home}/f"), "two", TestContext.Current.CancellationToken);
        await site.ServesAsync("/c/f", "two");
        _site.File($"{home}/sub/g", "three");
        await site.ServesAsync("/a/sub/g", "three");

        Assert.All(ways, way => Assert.Equal("two three", $"{site.Body($"{way}/f")} {site.Body($"{way}/sub/g")}"));
    }

    [Fact]
    public async Task A_path_that_goes_keeps_the_others_and_the_last_one_removes_all()
    {
        _site.File(".store/f", "f");
        _site.Symlink("a", ".store");
        _site.Symlink("b", ".store");
        _site.Symlink("c/d", "../.store");
        using var site = new LiveSite(_site);

        File.Delete(_site.PathOf("a"));
        await site.ServesAsync("/a/f", null);
        Assert.Equal("f f", $"{site.Body("/b/f")} {site.Body("/c/d/f")}");
        site.Swap("b", "c");
        await site.ServesAsync("/b/d/f", "f");
        Assert.Null(site.Body("/b/f"));
        File.Delete(_site.PathOf("c/d"));
        await site.ServesAsync("/c/d/f", null);
        Assert.Equal(0, site.Catalog.Current.AssetCount);
    }

    [Fact]
    public async Task A_path_that_leads_elsewhere_does_not_change_the_others()
    {
        _site.File(".one/f", "one");
        _site.File(".two/f", "two");
        _site.Symlink("a", ".one");
        _site.Symlink("long-name", ".one");
        using var site = new LiveSite(_site);

        site.Swap("a", ".two");

        await site.ServesAsync("/a/f", "two");
        Assert.Equal("one", site.Body("/long-name/f"));
        site.Swap("long-name", ".two");
        await site.ServesAsync("/long-name/f", "two");
        Assert.Equal(1, site.Catalog.Current.AssetCount);
    }

    [Fact]
    public async Task Revalidation_sees_a_path_that_leads_elsewhere()
    {
        _site.File(".one/f", "one");
        _site.File(".two/f", "two");
        _site.Symlink("current", ".one");
        _site.Symlink("a", "current");
        _site.Symlink("d/b", "../current");
        await TempSite.SettleAsync();
        using var site = Site.Open(_site.Options with { Watch = WatchMode.Revalidate }, new RecordingLog());
        Assert.Equal("one", site.Catalog.Current.Body("/d/b/f"));

        File.Delete(_site.PathOf("current"));
        _site.Symlink("current", ".two");
        foreach (string path in (string[])["/d/b/f", "/a/f", "/current/f"])
        {
            await site.RevalidateAsync(Encoding.ASCII.GetBytes(path), [], []);
            Assert.Equal("two", site.Catalog.Current.Body(path));
        }
    }

    [Fact]
    public async Task A_file_behind_a_link_and_the_directory_of_the_link_change_at_once()
    {
        _site.File(".store/sub/f", "one");
        _site.Symlink("a", ".store");
        _site.Symlink("b", ".store/sub");
        await TempSite.SettleAsync();
        using AssetCatalog catalog = _site.Open();

        await File.WriteAllTextAsync(_site.PathOf(".store/sub/f"), "two", TestContext.Current.CancellationToken);
        _site.File("other", "");
        catalog.Refresh(
        [
            new DirectoryChange([], ["other"u8.ToArray()]),
            new DirectoryChange("/a/sub"u8.ToArray(), ["f"u8.ToArray()]),
            new DirectoryChange("/b"u8.ToArray(), ["f"u8.ToArray()]),
        ]);

        Assert.Equal("two two", $"{catalog.Current.Body("/a/sub/f")} {catalog.Current.Body("/b/f")}");
        Assert.Equal(2, catalog.Current.AssetCount);
    }

    [Fact]
    public async Task A_walk_that_takes_long_says_where_it_is()
    {
        var clock = new TimedClock();
        var reported = new List<string>();
        using var progress = new ScanProgress(clock, (place, entries, taken) => reported.Add($"{place} {entries} {taken.TotalSeconds}"));
        _site.File("d/e/f", "f");
        var slow = new SlowObserver(path =>
        {
            if (path == "/d/e")
            {
                // Nobody walks on meanwhile: a file system that does not answer.
                clock.Advance(TimeSpan.FromSeconds(1.9));
                Assert.Empty(reported);
                clock.Advance(TimeSpan.FromSeconds(0.1));
                clock.Advance(TimeSpan.FromSeconds(10));
            }
        });

        using var catalog = AssetCatalog.Open(_site.Options, slow, progress);
        clock.Advance(TimeSpan.FromHours(1));
        await TempSite.SettleAsync();

        Assert.Equal(["/d/e 2 2", "/d/e 2 12"], reported);
    }

    /// <summary>Is slow when a directory is reported.</summary>
    private sealed class SlowObserver(Action<string> entering) : IDirectoryObserver
    {
        public void Entering(int directoryFd, ReadOnlySpan<byte> path, in FileState state) => entering(Encoding.ASCII.GetString(path));

        public void Keeping(ReadOnlySpan<byte> path)
        {
        }

        public void MetSymlink(ReadOnlySpan<byte> path)
        {
        }

        public void Left(ReadOnlySpan<byte> path)
        {
        }
    }
}
