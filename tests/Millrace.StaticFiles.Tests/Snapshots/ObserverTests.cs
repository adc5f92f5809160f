using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>What an observer is shown, so that it can watch all that matters.</summary>
public sealed class ObserverTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();
    private readonly RecordingObserver _observer = new();

    public void Dispose() => _site.Dispose();

    [Fact]
    public async Task Each_directory_is_shown_before_it_is_listed_and_each_symlink()
    {
        _site.File("a/b/f.txt", "x");
        _site.EmptyDirectory(".hidden/c");
        _site.Symlink("to-file", "a/b/f.txt");
        _site.Symlink("a/to-directory", "b");
        _site.Symlink("dangling", "nowhere");
        _site.Symlink(".hidden-link", "a");
        await TempSite.SettleAsync();
        using var catalog = AssetCatalog.Open(_site.Options, _observer);

        Assert.Equal(["", "/a", "/a/b"], _observer.Entered.Order());
        Assert.Equal(["/a/to-directory", "/dangling", "/to-file"], _observer.Symlinks.Order());

        _observer.Clear();
        catalog.Refresh("/a");
        Assert.Equal(["/a"], _observer.Entered);
        Assert.Equal(["/a/to-directory"], _observer.Symlinks);

        _observer.Clear();
        catalog.Reload();
        Assert.Equal(["", "/a", "/a/b"], _observer.Entered.Order());
        Assert.Empty(_observer.LeftPaths);
    }

    [Fact]
    public void What_changes_after_it_was_observed_is_in_the_listing_or_reported_later()
    {
        _site.EmptyDirectory("d");
        _observer.OnEntering = path => _site.File($".{path}/late.txt", "x");
        using var catalog = AssetCatalog.Open(_site.Options, _observer);

        Assert.Equal("x", catalog.Current.Body("/late.txt"));
        Assert.Equal("x", catalog.Current.Body("/d/late.txt"));
    }

    [Fact]
    public void Directories_that_left_are_reported_when_no_request_finds_them()
    {
        _site.File("a/b/f.txt", "x");
        using var catalog = AssetCatalog.Open(_site.Options, _observer);
        Directory.Delete(_site.PathOf("a"), recursive: true);

        catalog.Refresh("");

        Assert.Equal(["/a", "/a/b"], _observer.LeftPaths.Order());
        _site.File("a/f.txt", "x");
        catalog.Reload();
        Directory.Delete(_site.PathOf("a"), recursive: true);
        _observer.Clear();
        catalog.Reload();
        Assert.Equal(["/a"], _observer.LeftPaths);
    }

    [Fact]
    public void A_directory_that_vanishes_before_it_is_listed_is_none()
    {
        _site.File("a/f.txt", "x");
        _site.File("b/f.txt", "x");
        _observer.OnEntering = path =>
        {
            if (path is "/a" or "/b")
            {
                // Whichever is first takes the other away, and loses its own file.
                string other = path == "/a" ? "b" : "a";
                Directory.Delete(_site.PathOf(other), recursive: true);
                File.Delete(_site.PathOf($".{path}/f.txt"));
                _observer.OnEntering = _ => { };
            }
        };

        using var catalog = AssetCatalog.Open(_site.Options, _observer);

        Assert.Equal(2, catalog.Current.DirectoryCount);
        Assert.Equal(0, catalog.Current.AssetCount);
        Assert.Single(catalog.Current.Names("/"));
    }

    [Fact]
    public void A_directory_that_vanishes_while_it_is_listed_is_none()
    {
        _site.EmptyDirectory("a");
        _observer.OnEntering = path =>
        {
            if (path == "/a")
            {
                Directory.Delete(_site.PathOf("a"));
            }
        };

        using var catalog = AssetCatalog.Open(_site.Options, _observer);

        Assert.Equal(PathMatch.None, catalog.Current.Match("/a"));
        Assert.Empty(catalog.Current.Names("/"));
    }

    [Fact]
    public void A_directory_that_vanishes_in_a_refresh_of_itself_takes_what_is_below_with_it()
    {
        _site.File("a/b/c/f.txt", "x");
        using var catalog = AssetCatalog.Open(_site.Options, _observer);
        _site.File("a/b/new/f.txt", "x");
        _observer.OnEntering = path =>
        {
            if (path == "/a/b/new")
            {
                Directory.Delete(_site.PathOf("a"), recursive: true);
            }
        };

        catalog.Refresh("/a/b");

        Assert.Equal(PathMatch.DirectoryWithoutSlash, catalog.Current.Match("/a/b"));
        Assert.Equal(PathMatch.None, catalog.Current.Match("/a/b/new"));
        catalog.Refresh("/a/b");
        Assert.Equal(1, catalog.Current.DirectoryCount);
        Assert.Equal(PathMatch.None, catalog.Current.Match("/a"));
    }
}
