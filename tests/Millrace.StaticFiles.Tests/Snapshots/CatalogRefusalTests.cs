using System.Net.Sockets;
using Millrace.Interop;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>What in a root is no asset, and which roots are none.</summary>
public sealed class CatalogRefusalTests : IDisposable
{
    private readonly TempSite _site = new();

    public void Dispose() => _site.Dispose();

    [Fact]
    public void Symlinks_inside_the_root_are_followed_also_upwards()
    {
        _site.File("shared/logo.svg", "<svg/>");
        _site.Symlink("a/logo.svg", "../shared/logo.svg");
        _site.Symlink("a/shared", "../shared");
        _site.Symlink("a/twice", "shared");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal("<svg/>", catalog.Current.Body("/a/logo.svg"));
        Assert.Equal("<svg/>", catalog.Current.Body("/a/shared/logo.svg"));
        Assert.Equal("<svg/>", catalog.Current.Body("/a/twice/logo.svg"));
        Assert.Equal(0, catalog.Current.SkippedCount);
    }

    [Fact]
    public void A_volume_as_kubernetes_mounts_it_is_served()
    {
        _site.File("..2024_05_06/index.html", "one");
        _site.Symlink("..data", "..2024_05_06");
        _site.Symlink("index.html", "..data/index.html");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal("one", catalog.Current.Body("/"));
        Assert.Equal(PathMatch.None, catalog.Current.Match("/..data/index.html"));
    }

    [Fact]
    public void Symlinks_that_leave_the_root_are_noted_and_not_served()
    {
        File.WriteAllText(Path.Combine(_site.Outside, "secret.txt"), "secret");
        Directory.CreateDirectory(Path.Combine(_site.Outside, "root-sibling"));
        _site.File("inside.txt", "x");
        _site.Symlink("up.txt", "../secret.txt");
        _site.Symlink("dir/up.txt", "../../secret.txt");
        _site.Symlink("absolute.txt", Path.Combine(_site.Outside, "secret.txt"));
        _site.Symlink("absolute-inside.txt", _site.PathOf("inside.txt"));
        _site.Symlink("sibling", "../root-sibling");
        _site.Symlink("machine", "/");
        _site.Symlink("out-and-in.txt", "../root/inside.txt");
        using AssetCatalog catalog = _site.Open();

        foreach (string path in new[]
        {
            "/up.txt", "/dir/up.txt", "/absolute.txt", "/absolute-inside.txt", "/sibling", "/machine", "/out-and-in.txt",
        })
        {
            Assert.Equal(PathMatch.None, catalog.Current.Match(path));
            Assert.Equal(SkipReason.OutsideRoot, catalog.Current.ReasonFor(path));
        }

        Assert.Equal(1, catalog.Current.AssetCount);
    }

    [Fact]
    public void Symlinks_to_nothing_and_to_each_other_are_noted()
    {
        _site.Symlink("dangling.txt", "nowhere.txt");
        _site.Symlink("a", "b");
        _site.Symlink("b", "a");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(SkipReason.Missing, catalog.Current.ReasonFor("/dangling.txt"));
        Assert.Equal(SkipReason.SymlinkLoop, catalog.Current.ReasonFor("/a"));
        Assert.Equal(SkipReason.SymlinkLoop, catalog.Current.ReasonFor("/b"));
    }

    [Fact]
    public void A_cycle_of_directories_is_answered_and_read_once()
    {
        _site.File("a/file.txt", "x");
        _site.Symlink("a/self", ".");
        _site.Symlink("a/up", "..");
        _site.Symlink("a/b/grandparent", "../../a");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal((1, 3, 0), (catalog.Current.AssetCount, catalog.Current.DirectoryCount, catalog.Current.SkippedCount));
        foreach (string path in new[] { "/a/self", "/a/self/self/self", "/a/up/a", "/a/b/grandparent", "/a/up/a/b/grandparent/self" })
        {
            Assert.Equal("x", catalog.Current.Body($"{path}/file.txt"));
            Assert.Equal(PathMatch.DirectoryWithoutSlash, catalog.Current.Match(path));
        }
    }

    [Fact]
    public void Two_directories_that_link_to_each_other_end()
    {
        _site.File("a/one.txt", "1");
        _site.File("b/two.txt", "2");
        _site.Symlink("a/b", "../b");
        _site.Symlink("b/a", "../a");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal("2", catalog.Current.Body("/a/b/two.txt"));
        Assert.Equal("1", catalog.Current.Body("/b/a/one.txt"));
        Assert.Equal("1", catalog.Current.Body("/a/b/a/b/a/one.txt"));
        Assert.Equal(2, catalog.Current.AssetCount);
    }

    [Fact]
    public void Fifos_and_sockets_are_neither_assets_nor_opened()
    {
        _site.Fifo("pipe");
        using Socket listener = _site.Listener("socket");
        _site.Symlink("link-to-pipe", "pipe");
        _site.File("file.txt", "x");
        using var watch = new OpenWatch(_site.Root);
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(["", "file.txt"], watch.OpenedNames().Order());

        foreach (string path in new[] { "/pipe", "/socket", "/link-to-pipe" })
        {
            Assert.Equal(PathMatch.None, catalog.Current.Match(path));
            Assert.Equal(SkipReason.NotRegular, catalog.Current.ReasonFor(path));
        }

        Assert.Equal(1, _site.OpenDescriptorCount());
    }

    [Fact]
    public void A_file_that_became_a_fifo_is_not_opened_on_demand()
    {
        string full = _site.File("file.bin", new byte[100]);
        using var catalog = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 0, DescriptorsMax = 0 });
        Asset asset = catalog.Current.Asset("/file.bin");
        File.Delete(full);
        _site.Fifo("file.bin");

        Assert.Equal(-Errno.ENOENT, catalog.Current.OpenOnDemand(asset, out FileState _));
        Assert.Equal(1, _site.OpenDescriptorCount());
    }

    [Fact]
    public void A_file_that_became_an_escape_is_not_opened_on_demand()
    {
        File.WriteAllText(Path.Combine(_site.Outside, "secret.txt"), "secret");
        string full = _site.File("dir/secret.txt", "public");
        using var catalog = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 0, DescriptorsMax = 0 });
        Asset asset = catalog.Current.Asset("/dir/secret.txt");
        File.Delete(full);
        Directory.Delete(_site.PathOf("dir"));
        _site.Symlink("dir", "..");

        Assert.Equal(-Errno.EXDEV, catalog.Current.OpenOnDemand(asset, out FileState _));
    }

    [Fact]
    public void What_may_not_be_read_is_noted_and_the_rest_is_served()
    {
        _site.File("open.txt", "x");
        _site.File("closed.txt", "x");
        _site.File("index.html", "x");
        _site.File("index.htm", "fallback");
        _site.File("closed/file.txt", "x");
        _site.Close("closed.txt");
        _site.Close("index.html");
        _site.Close("closed");
        TempSite.Unlock(_site.Outside);

        using AssetCatalog catalog = TestThread.AsNobody(_site.Open);

        Assert.Equal("x", catalog.Current.Body("/open.txt"));
        Assert.Equal("fallback", catalog.Current.Body("/"));
        foreach (string path in new[] { "/closed.txt", "/index.html", "/closed" })
        {
            Assert.Equal(SkipReason.Unreadable, catalog.Current.ReasonFor(path));
        }

        Assert.Equal(PathMatch.None, catalog.Current.Match("/closed.txt"));
        Assert.Equal(PathMatch.None, catalog.Current.Match("/closed/file.txt"));
        TempSite.Unlock(_site.PathOf("closed"));
    }

    [Theory]
    [InlineData(0b000_000_000)]
    [InlineData(0b100_100_100)]
    [InlineData(0b001_001_001)]
    public void A_root_that_may_not_be_read_or_not_be_searched_is_refused(uint mode)
    {
        TempSite.Unlock(_site.Outside);
        Assert.Equal(0, TestCalls.ChangeMode(_site.Root, mode));
        try
        {
            var thrown = Assert.Throws<SiteException>(() => TestThread.AsNobody(_site.Open));
            Assert.Contains("cannot be read by this user", thrown.Cause, StringComparison.Ordinal);
            Assert.Contains("permission", thrown.Remedy, StringComparison.Ordinal);
        }
        finally
        {
            TempSite.Unlock(_site.Root);
        }

        Assert.Equal(0, _site.OpenDescriptorCount());
    }

    [Fact]
    public void A_root_that_is_not_there_or_no_directory_is_refused_with_cause_and_remedy()
    {
        string file = _site.File("file.txt", "x");
        _site.Symlink("loop", "loop");

        var missing = Assert.Throws<SiteException>(() => AssetCatalog.Open(new SiteOptions { Root = _site.PathOf("nowhere") }));
        var notDirectory = Assert.Throws<SiteException>(() => AssetCatalog.Open(new SiteOptions { Root = file }));
        var loop = Assert.Throws<SiteException>(() => AssetCatalog.Open(new SiteOptions { Root = _site.PathOf("loop") }));

        Assert.Equal($"The root '{_site.PathOf("nowhere")}' does not exist.", missing.Cause);
        Assert.Equal("Create it or name another directory.", missing.Remedy);
        Assert.Equal($"{missing.Cause} {missing.Remedy}", missing.Message);
        Assert.EndsWith("is not a directory.", notDirectory.Cause, StringComparison.Ordinal);
        Assert.EndsWith("leads to itself.", loop.Cause, StringComparison.Ordinal);
    }

    [Fact]
    public void A_root_may_be_a_symlink_out_of_its_parent()
    {
        _site.File("file.txt", "x");
        string link = Path.Combine(_site.Outside, "current");
        File.CreateSymbolicLink(link, _site.Root);

        using var catalog = AssetCatalog.Open(new SiteOptions { Root = link });

        Assert.Equal("x", catalog.Current.Body("/file.txt"));
    }

    [Fact]
    public void The_log_of_what_was_skipped_is_bounded_its_count_is_not()
    {
        for (int i = 0; i < SkippedEntries.KeptMax + 50; i++)
        {
            _site.Symlink($"dangling{i}", "nowhere");
        }

        using AssetCatalog catalog = _site.Open();

        Assert.Equal(SkippedEntries.KeptMax, catalog.Current.Skipped.Count);
        Assert.Equal(SkippedEntries.KeptMax + 50, catalog.Current.SkippedCount);
    }
}
