namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>The directory of a symlink is read again when what the symlink leads to becomes another, wherever on its way.</summary>
public sealed class LinkWatchTests : IDisposable
{
    private readonly WatchLab _lab = new();

    public void Dispose() => _lab.Dispose();

    [Fact]
    public async Task A_target_that_is_written_in_place_in_a_directory_nobody_walks_is_seen()
    {
        _lab.Site.File(".data/f", "old");
        _lab.Site.Symlink("a/f", "../.data/f");
        _lab.Start("", "/a");

        _lab.Write(".data/f");

        Assert.Equal(["/a"], await _lab.Catalog.RefreshAsync("/a"));
    }

    [Fact]
    public async Task A_target_that_is_replaced_in_a_directory_that_is_walked_is_seen_at_both_ends()
    {
        _lab.Site.File("b/f", "old");
        _lab.Site.File("b/g", "new");
        _lab.Site.Symlink("a/f", "../b/f");
        _lab.Start("", "/b", "/a");

        _lab.Rename("b/g", "b/f");

        Assert.Equal(["/a", "/b"], await _lab.Catalog.RefreshAsync("/a", "/b"));
    }

    [Fact]
    public async Task Other_names_in_a_directory_that_is_passed_disturb_nobody()
    {
        _lab.Site.File(".data/f", "old");
        _lab.Site.Symlink("a/f", "../.data/f");
        _lab.Start("", "/a");

        _lab.Write(".data/other");
        _lab.Write("last");

        Assert.Equal([""], await _lab.Catalog.RefreshAsync(""));
    }

    [Fact]
    public async Task A_release_that_is_switched_inside_the_root_is_seen()
    {
        _lab.Site.File("releases/41/index.html", "41");
        _lab.Site.File("releases/42/index.html", "42");
        _lab.Site.Symlink("current", "releases/41");
        _lab.Start("", "/current", "/releases", "/releases/41", "/releases/42");

        _lab.Swap("current", "releases/42");

        Assert.Equal([""], await _lab.Catalog.RefreshAsync(""));
    }

    [Fact]
    public async Task A_replaced_directory_on_the_path_is_seen()
    {
        _lab.Site.File(".releases/42/index.html", "old");
        _lab.Site.File(".next/index.html", "new");
        _lab.Site.Symlink("a/current", "../.releases/42");
        _lab.Start("", "/a", "/a/current");
        _lab.Rename(".releases/42", ".releases/41");
        await _lab.Catalog.RefreshAsync("/a");

        _lab.Rename(".next", ".releases/42");

        Assert.Contains("/a", await _lab.Catalog.RefreshAsync("/a"));
    }

    [Fact]
    public async Task A_volume_of_kubernetes_is_switched_under_a_directory()
    {
        // What the kubelet makes: files that are links through ..data, which is renamed over.
        _lab.Site.File("..2026_01/index.html", "old");
        _lab.Site.File("..2026_02/index.html", "new");
        _lab.Site.Symlink("..data", "..2026_01");
        _lab.Site.Symlink("index.html", "..data/index.html");
        _lab.Site.Symlink("sub/page.html", "../index.html");
        _lab.Start("", "/sub");

        _lab.Swap("..data", "..2026_02");

        Assert.Equal(["", "/sub"], await _lab.Catalog.RefreshAsync("", "/sub"));
    }

    [Fact]
    public async Task A_target_that_comes_to_be_is_seen_step_by_step()
    {
        _lab.Site.Symlink("a/f", "../.later/on/f");
        _lab.Start("", "/a");

        Directory.CreateDirectory(_lab.Site.PathOf(".later"));
        await _lab.Catalog.RefreshAsync("/a");
        Directory.CreateDirectory(_lab.Site.PathOf(".later/on"));
        await _lab.Catalog.RefreshAsync("/a");
        _lab.Write(".later/on/f");

        await _lab.Catalog.RefreshAsync("/a");
    }

    [Fact]
    public async Task A_symlink_in_a_directory_behind_a_symlink_is_followed_from_where_it_really_is()
    {
        _lab.Site.File("x/target", "decoy");
        _lab.Site.File("x/y/target", "old");
        _lab.Site.Symlink("x/y/real/f", "../target");
        _lab.Site.Symlink("link", "x/y/real");
        _lab.Start("", "/link");

        _lab.Write("x/target");
        _lab.Write("last");
        Assert.Equal([""], await _lab.Catalog.RefreshAsync(""));
        _lab.Write("x/y/target");
        Assert.Equal(["/link"], await _lab.Catalog.RefreshAsync("/link"));
    }

    [Fact]
    public void Nothing_outside_the_root_is_watched()
    {
        Directory.CreateDirectory(Path.Combine(_lab.Site.Outside, "elsewhere"));
        File.WriteAllText(Path.Combine(_lab.Site.Outside, "elsewhere/f"), "");
        _lab.Site.Symlink("up", "../elsewhere/f");
        _lab.Site.Symlink("absolute", Path.Combine(_lab.Site.Outside, "elsewhere/f"));
        _lab.Site.Symlink("winding", "a/../../root/a");
        _lab.Site.EmptyDirectory("a");
        using var bare = new WatchLab();
        bare.Start("");

        _lab.Start("");

        Assert.Equal(bare.Watch.WatchCount, _lab.Watch.WatchCount);
    }

    [Fact]
    public void Symlinks_that_lead_to_each_other_end()
    {
        _lab.Site.Symlink("a", "b");
        _lab.Site.Symlink("b", "a");
        _lab.Site.Symlink("deep", "deep/deep");

        _lab.Start("");

        Assert.Equal(WatchMode.Inotify, _lab.Watch.Mode);
    }

    [Fact]
    public async Task The_watches_of_a_removed_symlinks_path_are_removed()
    {
        _lab.Site.File(".data/f", "old");
        _lab.Site.Symlink("f", ".data/f");
        _lab.Start("");
        int before = _lab.Watch.WatchCount;

        File.Delete(_lab.Site.PathOf("f"));
        await _lab.Catalog.RefreshAsync("");
        _lab.Write("last");
        await _lab.Catalog.RefreshAsync("");

        Assert.Equal(before - 1, _lab.Watch.WatchCount);
    }

    [Fact]
    public async Task The_watches_of_a_symlinks_path_stay_over_a_refresh()
    {
        _lab.Site.File(".data/f", "old");
        _lab.Site.Symlink("a/f", "../.data/f");
        _lab.Start("", "/a");
        _lab.Write("a/other");
        await _lab.Catalog.RefreshAsync("/a");
        int before = _lab.Watch.WatchCount;

        _lab.Write(".data/f");

        await _lab.Catalog.RefreshAsync("/a");
        Assert.Equal(before, _lab.Watch.WatchCount);
    }

    [Fact]
    public async Task Many_symlinks_to_one_target_are_reported_once_per_directory()
    {
        _lab.Site.File(".data/f", "old");
        for (int i = 0; i < 200; i++)
        {
            _lab.Site.Symlink($"a/{i}", "../.data/f");
            _lab.Site.Symlink($"b/{i}", "../.data/f");
        }

        _lab.Start("", "/a", "/b");

        _lab.Write(".data/f");

        Assert.Equal(["/a", "/b"], await _lab.Catalog.RefreshAsync("/a", "/b"));
    }
}
