using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Watching;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>A site that cannot be watched completely is checked at each request, and the log says why.</summary>
public sealed class RefusalTests
{
    [Fact]
    public void No_watches_left_at_the_start_means_revalidation_and_one_line()
    {
        using var lab = new WatchLab();
        lab.Site.EmptyDirectory("a");
        lab.Site.EmptyDirectory("b");
        lab.Source.ErrorFor = path => path == lab.Site.PathOf("a") ? Errno.ENOSPC : 0;

        lab.Start("", "/a", "/b");

        Assert.Equal(WatchMode.Revalidate, lab.Watch.Mode);
        Assert.Contains("fs.inotify.max_user_watches", Assert.Single(lab.Log.Entries).Text, StringComparison.Ordinal);
        Assert.True(lab.Source.IsDisposed);
        Assert.Equal(0, lab.Watch.WatchCount);
    }

    [Fact]
    public async Task No_watches_left_later_switches_to_revalidation_and_says_so()
    {
        using var lab = new WatchLab();
        lab.Site.EmptyDirectory("a");
        lab.Start("");
        lab.Source.ErrorFor = _ => Errno.ENOSPC;
        lab.Catalog.OnReported = _ =>
        {
            lab.Enter("/a");
            lab.Enter("/b");
        };

        lab.Site.EmptyDirectory("b");

        await lab.IsRevalidatedAsync();
        Assert.Single(lab.Log.Lines(401));
        Assert.True(lab.Source.IsDisposed);
        Assert.Equal(0, lab.Watch.WatchCount);
    }

    [Fact]
    public async Task Somebody_elses_reload_that_finds_no_watches_left_ends_the_watch_as_well()
    {
        using var lab = new WatchLab();
        lab.Start("");
        lab.Source.ErrorFor = _ => Errno.ENOSPC;

        lab.Enter("");

        await lab.IsRevalidatedAsync();
        Assert.True(lab.Source.IsDisposed);
    }

    [Fact]
    public void Forced_inotify_becomes_revalidation_too_when_there_are_no_watches_left()
    {
        using var lab = new WatchLab { Mode = WatchMode.Inotify };
        lab.Source.ErrorFor = _ => Errno.ENOSPC;

        lab.Start("");

        Assert.Equal(WatchMode.Revalidate, lab.Watch.Mode);
    }

    [Fact]
    public void Watches_run_out_for_a_symlinks_path_as_for_a_directory()
    {
        using var lab = new WatchLab();
        lab.Site.File(".data/f", "");
        lab.Site.Symlink("f", ".data/f");
        lab.Source.ErrorFor = path => path == lab.Site.PathOf(".data") ? Errno.ENOSPC : 0;

        lab.Start("");

        Assert.Equal(WatchMode.Revalidate, lab.Watch.Mode);
        Assert.Single(lab.Log.Lines(401));
    }

    [Fact]
    public void Any_other_refusal_is_called_by_its_name()
    {
        using var lab = new WatchLab();
        lab.Source.ErrorFor = path => path == lab.Site.Root ? Errno.ENOMEM : 0;

        lab.Start("");

        Assert.Equal(WatchMode.Revalidate, lab.Watch.Mode);
        Assert.Contains(Errno.Describe(Errno.ENOMEM), Assert.Single(lab.Log.Lines(404)), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(WatchMode.Auto, WatchMode.Revalidate)]
    [InlineData(WatchMode.Inotify, WatchMode.Inotify)]
    public void A_file_system_that_reports_nothing_is_watched_only_if_forced(WatchMode reported, WatchMode mode)
    {
        using var lab = new WatchLab { Mode = reported, RootName = "/proc/sys/fs" };

        lab.Start("");

        Assert.Equal(mode, lab.Watch.Mode);
        Assert.Equal(mode == WatchMode.Revalidate, lab.Log.Lines(403).Any(line => line.Contains("Proc", StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData(0x6969, true)]
    [InlineData(0xff534d42, true)]
    [InlineData(0xfe534d42, true)]
    [InlineData(0x65735546, true)]
    [InlineData(0x01021997, true)]
    [InlineData(0xef53, false)]
    [InlineData(0x58465342, false)]
    [InlineData(0x9123683e, false)]
    [InlineData(0x01021994, false)]
    [InlineData(0x794c7630, false)]
    public void Shared_file_systems_report_nothing_and_local_ones_all(long magic, bool isSilent) =>
        Assert.Equal(isSilent, Enum.IsDefined((FileSystemMagic)magic));

    [Theory]
    [InlineData(WatchMode.Revalidate)]
    [InlineData(WatchMode.Off)]
    public void A_mode_without_a_watch_has_none(WatchMode mode)
    {
        var log = new RecordingLog();
        using var site = Kit.TempSite.InMemory();
        using var watch = TreeWatch.Open(site.Root, mode, new SiteLog(log));
        int fd = WatchLab.Open(site.Root);
        Assert.Equal(0, Scanning.FileState.Read(fd, out Scanning.FileState state));
        watch.Entering(fd, [], state);
        watch.MetSymlink("/a"u8);
        watch.Left("/a"u8);
        watch.Start(new RecordingCatalog(_ => { }));
        Assert.Equal(0, FileCalls.Close(fd));

        Assert.Equal(mode, watch.Mode);
        Assert.Equal(0, watch.WatchCount);
        Assert.Empty(log.Entries);
    }
}
