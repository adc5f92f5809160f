using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>Another directory under the root's name is another site: all is read again.</summary>
public sealed class RootPathWatchTests : IDisposable
{
    private readonly TempSite _place = TempSite.InMemory();

    public void Dispose() => _place.Dispose();

    [Fact]
    public async Task A_root_that_is_a_symlink_is_switched()
    {
        Release("1");
        Release("2");
        _place.Symlink("current", "releases/1");
        using var lab = new WatchLab { RootName = _place.PathOf("current") };
        lab.Start("");

        Swap("current", "releases/2");

        await lab.Catalog.ReloadAsync();
    }

    [Fact]
    public async Task A_symlink_above_the_root_is_switched()
    {
        Release("1");
        Release("2");
        _place.Symlink("a", _place.PathOf("b"));
        _place.Symlink("b", "releases/1");
        using var lab = new WatchLab { RootName = _place.PathOf("a/public") };
        lab.Start("");

        Swap("b", "releases/2");

        await lab.Catalog.ReloadAsync();
    }

    [Fact]
    public async Task A_root_is_renamed_away_and_another_is_put_in_its_place()
    {
        _place.EmptyDirectory("site");
        _place.EmptyDirectory("next");
        using var lab = new WatchLab { RootName = _place.PathOf("site") };
        lab.Start("");

        Rename("site", "old");
        await lab.Catalog.ReloadAsync();
        Rename("next", "site");
        await lab.Catalog.ReloadAsync();
    }

    [Fact]
    public async Task A_directory_above_the_root_is_renamed()
    {
        _place.EmptyDirectory("a/b/site");
        using var lab = new WatchLab { RootName = _place.PathOf("a/b/site") };
        lab.Start("");

        Rename("a", "z");

        await lab.Catalog.ReloadAsync();
    }

    [Fact]
    public async Task A_root_that_was_removed_with_all_above_it_is_awaited_until_it_is_back()
    {
        _place.EmptyDirectory("a/b/site");
        using var lab = new WatchLab { RootName = _place.PathOf("a/b/site") };
        lab.Start("");
        var isBack = new TaskCompletionSource();
        lab.Catalog.OnReported = reported =>
        {
            if (!Directory.Exists(lab.RootName))
            {
                throw new SiteException("It is gone.", "");
            }
        };
        lab.Catalog.OnRead = () => isBack.TrySetResult();

        Directory.Delete(_place.PathOf("a"), recursive: true);
        foreach (string step in (string[])["a", "a/b", "a/b/site"])
        {
            await lab.Catalog.ReloadAsync();
            Directory.CreateDirectory(_place.PathOf(step));
        }

        await isBack.Task.WaitAsync(TimeSpan.FromSeconds(60));
        _place.File("a/b/site/f", "");
        while (await lab.Catalog.NextAsync() is not [""])
        {
        }

        Assert.Single(lab.Log.Lines(411));
        Assert.Single(lab.Log.Lines(413));
    }

    [Fact]
    public async Task A_relative_root_with_dots_is_followed_from_the_working_directory()
    {
        Release("1");
        Release("2");
        _place.Symlink("current", "releases/1");
        string relative = Path.GetRelativePath(Environment.CurrentDirectory, _place.PathOf("current"));
        using var lab = new WatchLab { RootName = $"./{relative}/../1/public/" };
        lab.Start("");
        Assert.StartsWith("./..", lab.RootName, StringComparison.Ordinal);

        Rename("releases/1", "releases/0");

        await lab.Catalog.ReloadAsync();
    }

    [Fact]
    public async Task Neighbours_of_the_root_disturb_nobody()
    {
        _place.EmptyDirectory("site");
        using var lab = new WatchLab { RootName = _place.PathOf("site") };
        lab.Start("");

        _place.File("neighbour", "");
        Directory.SetLastWriteTimeUtc(_place.PathOf("site"), DateTime.UnixEpoch);
        _place.File("site/f", "");

        Assert.Equal([""], await lab.Catalog.RefreshAsync(""));
        Assert.DoesNotContain(null, lab.Catalog.Reported);
    }

    [Fact]
    public async Task A_switch_between_the_opening_of_the_root_and_the_check_of_its_path_is_noticed()
    {
        Release("1");
        Release("2");
        _place.Symlink("current", "releases/1");
        using var lab = new WatchLab { RootName = _place.PathOf("current") };
        int fd = WatchLab.Open(_place.PathOf("current"));
        Swap("current", "releases/2");
        lab.Enter("", fd);
        Assert.Equal(0, FileCalls.Close(fd));

        lab.Start();

        await lab.Catalog.ReloadAsync();
    }

    [Fact]
    public async Task A_path_that_may_not_be_watched_is_polled()
    {
        Release("1");
        Release("2");
        _place.Symlink("current", "releases/1");
        using var lab = new WatchLab { RootName = _place.PathOf("current") };
        lab.Source.ErrorFor = path => path == _place.Root ? Errno.EACCES : 0;
        lab.Start("");
        Assert.Equal(WatchMode.Inotify, lab.Watch.Mode);

        Swap("current", "releases/2");
        await lab.Catalog.ReloadAsync();
        Swap("current", "releases/nowhere");
        await lab.Catalog.ReloadAsync();
        Swap("current", "releases/1");
        await lab.Catalog.ReloadAsync();
    }

    private void Release(string name) => _place.EmptyDirectory($"releases/{name}/public");

    private void Rename(string from, string to) => Assert.Equal(0, TestCalls.Rename(_place.PathOf(from), _place.PathOf(to)));

    private void Swap(string symlink, string target)
    {
        _place.Symlink(symlink + ".next", target);
        Rename(symlink + ".next", symlink);
    }
}
