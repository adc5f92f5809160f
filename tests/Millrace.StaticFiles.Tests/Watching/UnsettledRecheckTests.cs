using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>A file that was seen within milliseconds of its last change has a weak tag, but not for long.</summary>
public class UnsettledRecheckTests
{
    [Fact]
    public async Task A_large_file_just_written_has_a_strong_tag_soon()
    {
        using var files = new TempSite();
        files.File("index.html", "x");
        using Site site = Site.Open(files.Options, NullLoggerFactory.Instance);
        var isStrong = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        site.Catalog.Changed += () =>
        {
            if (TagOf(site.Catalog, "/large.bin") is ['"', ..])
            {
                isStrong.TrySetResult();
            }
        };

        files.File("large.bin", new byte[1_000_000]);

        await isStrong.Task.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
    }

    [Fact]
    public void A_large_file_just_written_has_a_weak_tag_and_its_directory_is_worth_another_look()
    {
        using var files = new TempSite();
        using AssetCatalog catalog = RecentWrite.Check(
            () =>
            {
                string path = files.File("dir/large.bin", new byte[1_000_000]);
                File.SetLastWriteTimeUtc(path, DateTime.UtcNow.AddMinutes(10));
                return files.Open();
            },
            static opened => TagOf(opened, "/dir/large.bin") is ['W', ..]);

        DirectoryChange unsettled = Assert.Single(catalog.Current.Unsettled);
        Assert.Equal("/dir", Encoding.UTF8.GetString(unsettled.Path));
        Assert.Equal("large.bin", Encoding.UTF8.GetString(Assert.Single(unsettled.Names!)));
    }

    [Fact]
    public void A_change_elsewhere_keeps_the_files_that_need_another_check()
    {
        using var files = new TempSite();
        files.File("a/x", "1");
        files.File("b/x", "1");
        using AssetCatalog catalog = AssetCatalog.Open(files.Options);
        WriteLarge(files, catalog, "a");

        files.File("b/x", "22");
        catalog.Refresh("/b");
        Assert.Contains("/a", Unsettled(catalog));
        WriteLarge(files, catalog, "b");
        Assert.Contains("/a", Unsettled(catalog));

        Directory.Delete(files.PathOf("a"), recursive: true);
        catalog.Refresh("");
        Assert.DoesNotContain("/a", Unsettled(catalog));
    }

    [Fact]
    public async Task A_large_file_has_a_strong_tag_soon_whatever_changes_elsewhere()
    {
        using var files = new TempSite();
        files.File("b/x", "1");
        files.File("a/large.bin", new byte[1_000_000]);
        using Site site = Site.Open(files.Options with { Watch = WatchMode.Revalidate }, NullLoggerFactory.Instance);
        for (int size = 2; TagOf(site.Catalog, "/a/large.bin") is ['W', ..]; size++)
        {
            Assert.True(size < 1_000, "It stays weak.");
            files.File("b/x", new string('x', size));
            site.Catalog.Refresh("/b");
            await Task.Delay(10, TestContext.Current.CancellationToken);
        }
    }

    [Fact]
    public void A_check_is_not_postponed_by_changes_and_is_repeated_when_it_fails()
    {
        var clock = new OneTimer();
        IReadOnlyList<DirectoryChange> unsettled = [new DirectoryChange("/a"u8.ToArray(), ["large.bin"u8.ToArray()])];
        var log = new RecordingLog();
        var catalog = new RecordingCatalog(reported => unsettled = []);
        using var recheck = new UnsettledRecheck(new Refresher(catalog, "root", new SiteLog(log)), () => unsettled, clock);

        recheck.OnChanged();
        recheck.OnChanged();
        Assert.Equal([UnsettledRecheck.CheckAfter], clock.Started);

        catalog.OnReported = _ => throw new IOException("No descriptor.");
        clock.Fire();
        recheck.OnChanged();
        Assert.Equal([UnsettledRecheck.CheckAfter, UnsettledRecheck.RetryAfter], clock.Started);
        Assert.Equal(["/a"], Assert.Single(catalog.Reported)!);
        Assert.Single(log.Lines(412));

        catalog.OnReported = _ => { };
        clock.Fire();
        recheck.OnChanged();
        Assert.Equal(2, catalog.Reported.Count);
        Assert.Equal(2, clock.Started.Count);
        Assert.Single(log.Lines(413));
    }

    [Fact]
    public void What_never_settles_is_checked_more_and_more_rarely()
    {
        var clock = new OneTimer();
        IReadOnlyList<DirectoryChange> unsettled = [new DirectoryChange("/a"u8.ToArray(), ["log.bin"u8.ToArray()])];
        var catalog = new RecordingCatalog(_ => { });
        using var recheck = new UnsettledRecheck(new Refresher(catalog, "root", new SiteLog(new RecordingLog())), () => unsettled, clock);
        recheck.OnChanged();
        for (int i = 0; i < 5; i++)
        {
            clock.Fire();
        }

        unsettled = [];
        clock.Fire();
        unsettled = [new DirectoryChange("/a"u8.ToArray(), ["other.bin"u8.ToArray()])];
        recheck.OnChanged();

        Assert.Equal((double[])[100, 200, 400, 800, 1_000, 1_000, 100], clock.Started.Select(static pause => pause.TotalMilliseconds));
    }

    private static void WriteLarge(TempSite files, AssetCatalog catalog, string directory)
    {
        int size = 1_000_000;
        RecentWrite.Check(
            () =>
            {
                files.File(directory + "/large.bin", new byte[size++]);
                catalog.RefreshNames("/" + directory, "large.bin");
                return Unsettled(catalog);
            },
            unsettled => unsettled.Contains("/" + directory));
    }

    private static string[] Unsettled(AssetCatalog catalog) =>
        [.. catalog.Current.Unsettled.Select(change => Encoding.UTF8.GetString(change.Path)).Order(StringComparer.Ordinal)];

    private static string TagOf(AssetCatalog catalog, string path)
    {
        CatalogSnapshot snapshot = catalog.Acquire();
        try
        {
            return snapshot.TryFind(Encoding.UTF8.GetBytes(path), out Asset? asset, out _) == PathMatch.Asset
                ? Encoding.ASCII.GetString(asset!.EntityTag)
                : "";
        }
        finally
        {
            snapshot.Release();
        }
    }

    /// <summary>A clock with one timer, which goes off when the test advances it.</summary>
    private sealed class OneTimer : TimeProvider, ITimer
    {
        private TimerCallback? _callback;

        public List<TimeSpan> Started { get; } = [];

        public void Fire() => _callback!(null);

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            _callback = callback;
            return this;
        }

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            Started.Add(dueTime);
            return true;
        }

        public void Dispose()
        {
        }

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}
