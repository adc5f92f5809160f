using Millrace.Interop.Files;
using Millrace.Interop.Watching;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>What changes in a directory of the site has that directory read again, and no other.</summary>
public sealed class ChangeTests : IDisposable
{
    private readonly WatchLab _lab = new();

    public void Dispose() => _lab.Dispose();

    [Fact]
    public async Task A_new_file_has_its_directory_read_again()
    {
        _lab.Site.EmptyDirectory("a");
        _lab.Start("", "/a");

        _lab.Write("a/f");

        Assert.Equal(["/a"], await _lab.Catalog.RefreshAsync("/a"));
    }

    [Fact]
    public async Task A_write_is_seen_while_the_file_is_still_open()
    {
        _lab.Site.File("f", "old");
        _lab.Start("");

        using FileStream file = File.Open(_lab.Site.PathOf("f"), FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite);
        file.Write("now"u8);
        file.Flush();

        Assert.Equal([""], await _lab.Catalog.RefreshAsync(""));
    }

    [Fact]
    public async Task A_change_of_rights_or_time_is_seen()
    {
        _lab.Site.File("f", "old");
        _lab.Start("");

        _lab.Site.Close("f");
        await _lab.Catalog.RefreshAsync("");
        File.SetLastWriteTimeUtc(_lab.Site.PathOf("f"), DateTime.UnixEpoch);
        await _lab.Catalog.RefreshAsync("");
    }

    [Fact]
    public async Task A_rename_has_both_directories_read_again()
    {
        _lab.Site.File("a/f", "");
        _lab.Site.EmptyDirectory("b");
        _lab.Start("", "/a", "/b");

        _lab.Rename("a/f", "b/g");

        Assert.Equal(["/a", "/b"], await _lab.Catalog.RefreshAsync("/a", "/b"));
    }

    [Fact]
    public async Task Removals_of_files_and_directories_are_seen()
    {
        _lab.Site.File("a/f", "");
        _lab.Site.EmptyDirectory("b");
        _lab.Start("", "/a", "/b");

        File.Delete(_lab.Site.PathOf("a/f"));
        Assert.Equal(["/a"], await _lab.Catalog.RefreshAsync("/a"));
        Directory.Delete(_lab.Site.PathOf("b"));
        Assert.Contains("", await _lab.Catalog.RefreshAsync(""));
    }

    [Fact]
    public async Task One_directory_with_two_paths_is_read_again_as_both()
    {
        _lab.Site.EmptyDirectory("real");
        _lab.Site.Symlink("link", "real");
        _lab.Start("", "/real", "/link");

        _lab.Write("real/f");

        Assert.Equal(["/link", "/real"], await _lab.Catalog.RefreshAsync("/real", "/link"));
    }

    [Fact]
    public async Task What_changes_between_the_scan_and_the_start_is_reported_after_the_start()
    {
        _lab.Site.EmptyDirectory("a");
        _lab.Enter("");
        _lab.Enter("/a");
        _lab.Write("a/f");

        _lab.Start();

        Assert.Equal(["/a"], await _lab.Catalog.RefreshAsync("/a"));
    }

    [Fact]
    public async Task What_changes_while_it_is_read_is_read_once_more()
    {
        _lab.Start("");
        bool isFirst = true;
        _lab.Catalog.OnReported = _ =>
        {
            if (isFirst)
            {
                isFirst = false;
                _lab.Write("second");
            }
        };

        _lab.Write("first");

        Assert.Equal([""], (await _lab.Catalog.NextAsync())!);
        Assert.Equal([""], (await _lab.Catalog.NextAsync())!);
    }

    [Fact]
    public async Task It_is_the_directory_shown_that_is_watched_and_not_what_its_name_leads_to_by_now()
    {
        _lab.Site.EmptyDirectory("a");
        _lab.Enter("");
        int fd = WatchLab.Open(_lab.Site.PathOf("a"));
        _lab.Rename("a", "b");
        _lab.Site.EmptyDirectory("a");
        _lab.Enter("/a", fd);
        Assert.Equal(0, FileCalls.Close(fd));
        _lab.Start();
        await _lab.Catalog.RefreshAsync("");

        _lab.Write("b/f");

        Assert.Equal(["/a"], await _lab.Catalog.RefreshAsync("/a"));
    }

    [Fact]
    public async Task A_moved_directory_does_not_report_under_its_old_path()
    {
        _lab.Site.EmptyDirectory("a");
        _lab.Catalog.OnReported = reported =>
        {
            if (Directory.Exists(_lab.Site.PathOf("b")) && reported!.Contains(""))
            {
                _lab.Enter("/b");
                _lab.Leave("/a");
            }
        };
        _lab.Start("", "/a");
        _lab.Rename("a", "b");
        Assert.Equal(["", "/a"], await _lab.Catalog.RefreshAsync(""));

        _lab.Write("b/f");

        Assert.Equal(["/b"], await _lab.Catalog.RefreshAsync("/b"));
    }

    [Fact]
    public async Task A_directory_that_moved_before_it_was_served_is_given_up_when_it_is_asked_for()
    {
        _lab.Site.EmptyDirectory("a");
        _lab.Start("", "/a");
        int before = _lab.Watch.WatchCount;
        // It was entered, and then was not part of the catalog's snapshot: nothing reports that it left.
        _lab.Forget("/a");
        Assert.Equal(0, TestCalls.Rename(_lab.Site.PathOf("a"), Path.Combine(_lab.Site.Outside, "a")));
        Assert.Equal(["", "/a"], await _lab.Catalog.RefreshAsync("", "/a"));

        File.WriteAllText(Path.Combine(_lab.Site.Outside, "a/f"), "");
        _lab.Write("last");

        Assert.Equal([""], await _lab.Catalog.RefreshAsync(""));
        Assert.Equal(before - 1, _lab.Watch.WatchCount);
    }

    [Fact]
    public async Task A_directory_that_moved_is_itself_read_again_for_its_symlinks_lead_elsewhere()
    {
        _lab.Site.EmptyDirectory("a/d");
        _lab.Start("", "/a", "/a/d");

        _lab.Rename("a/d", "d");

        Assert.Contains("/a/d", await _lab.Catalog.RefreshAsync("", "/a", "/a/d"));
    }

    [Fact]
    public async Task A_directory_that_left_is_watched_no_longer()
    {
        _lab.Site.EmptyDirectory("a/b");
        _lab.Start("", "/a", "/a/b");
        int before = _lab.Watch.WatchCount;
        Assert.Equal(0, TestCalls.Rename(_lab.Site.PathOf("a"), Path.Combine(_lab.Site.Outside, "a")));
        _lab.Catalog.OnReported = _ =>
        {
            _lab.Leave("/a");
            _lab.Leave("/a/b");
        };
        await _lab.Catalog.RefreshAsync("");
        File.WriteAllText(Path.Combine(_lab.Site.Outside, "a/b/f"), "");
        _lab.Write("last");

        Assert.Equal([""], await _lab.Catalog.RefreshAsync(""));
        Assert.Equal(before - 2, _lab.Watch.WatchCount);
    }

    [Fact]
    public async Task A_removed_directory_takes_its_watch_with_it()
    {
        _lab.Site.EmptyDirectory("a");
        _lab.Start("", "/a");
        int before = _lab.Watch.WatchCount;

        Directory.Delete(_lab.Site.PathOf("a"));
        await _lab.Catalog.RefreshAsync("");

        Assert.Equal(before - 1, _lab.Watch.WatchCount);
    }

    [Fact]
    public async Task A_reload_that_does_not_come_by_a_directory_ends_its_watch()
    {
        _lab.Site.EmptyDirectory("a");
        _lab.Start("", "/a");
        int before = _lab.Watch.WatchCount;
        _lab.Forget("/a");

        _lab.Source.Inject(new InotifyEvent { Watch = -1, Mask = WatchMask.QueueOverflow });
        await _lab.Catalog.ReloadAsync();
        _lab.Write("f");
        await _lab.Catalog.RefreshAsync("");

        Assert.Equal(before - 1, _lab.Watch.WatchCount);
    }

    [Fact]
    public async Task An_unmounted_file_system_has_all_read_again()
    {
        _lab.Start("");

        _lab.Source.Inject(new InotifyEvent { Watch = 1, Mask = WatchMask.Unmount });

        await _lab.Catalog.ReloadAsync();
        Assert.Empty(_lab.Log.Lines(410));
    }
}
