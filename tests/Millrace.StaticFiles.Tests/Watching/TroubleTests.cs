using System.Diagnostics;
using System.Globalization;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>Whatever goes wrong, the process goes on, the log says it once, and the site is true again as soon as it can be.</summary>
public sealed class TroubleTests : IDisposable
{
    private readonly WatchLab _lab = new();

    public void Dispose() => _lab.Dispose();

    [Fact]
    public async Task A_queue_that_overflows_has_all_read_again_and_says_so_once()
    {
        int queued = int.Parse(await File.ReadAllTextAsync("/proc/sys/fs/inotify/max_queued_events"), CultureInfo.InvariantCulture);
        _lab.Start("");
        using var isBusy = new SemaphoreSlim(0);
        using var isFull = new SemaphoreSlim(0);
        _lab.Catalog.OnReported = _ =>
        {
            isBusy.Release();
            Assert.True(isFull.Wait(TimeSpan.FromSeconds(60)));
        };
        _lab.Write("f");
        Assert.True(await isBusy.WaitAsync(TimeSpan.FromSeconds(60)));

        // While the thread is busy, more renames than the queue holds: each is two records, and no two in a row are equal.
        for (int i = 0; i <= queued / 4; i++)
        {
            _lab.Rename("f", "g");
            _lab.Rename("g", "f");
        }

        isFull.Release(1000);

        await _lab.Catalog.ReloadAsync();
        Assert.Contains("max_queued_events", Assert.Single(_lab.Log.Lines(410)), StringComparison.Ordinal);
        Assert.Equal(2, _lab.Catalog.Reported.Count);
        _lab.Write("after");
        await _lab.Catalog.RefreshAsync("");
    }

    [Fact]
    public async Task A_storm_is_read_a_few_hundred_times_a_second_and_not_a_record_at_a_time()
    {
        _lab.Site.File("a", "");
        _lab.Start("");
        int readCount = _lab.Source.ReadCount;
        long began = Stopwatch.GetTimestamp();

        for (int i = 0; i < 2000 || _lab.Catalog.Reported.Count < 3; i++)
        {
            _lab.Rename("a", "b");
            _lab.Rename("b", "a");
        }

        await _lab.Catalog.RefreshAsync("");
        double tookMs = Stopwatch.GetElapsedTime(began).TotalMilliseconds;
        // Each batch rests 5 times and reads once more when it is begun.
        Assert.InRange(_lab.Source.ReadCount - readCount, 3, (tookMs / ChangeBatch.StormMs * 7) + 7);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task What_cannot_be_read_is_logged_once_and_tried_again_after_a_second()
    {
        _lab.Start("");
        int left = 2;
        _lab.Catalog.OnReported = _ => ThrowWhile(left-- > 0, new SiteException("It is gone.", "Put it back."));
        long began = Stopwatch.GetTimestamp();
        // One record: of a file there are three, and one that comes late is the next change.
        _lab.Site.EmptyDirectory("d");

        Assert.Equal([""], (await _lab.Catalog.NextAsync())!);
        Assert.Null(await _lab.Catalog.NextAsync());
        Assert.Null(await _lab.Catalog.NextAsync());
        Assert.InRange(Stopwatch.GetElapsedTime(began), TimeSpan.FromSeconds(2), TimeSpan.FromSeconds(60));
        // The watch is still working at this call, and has ended at the next.
        _lab.Write("g");
        Assert.Equal([""], (await _lab.Catalog.NextAsync())!);
        Assert.Contains("It is gone. Put it back.", Assert.Single(_lab.Log.Lines(411)), StringComparison.Ordinal);
        Assert.Single(_lab.Log.Lines(413));
    }

    [Fact]
    public async Task What_cannot_be_read_is_tried_again_at_the_next_change()
    {
        var soonest = TimeSpan.MaxValue;
        // The best of some, as others have the machine too; without a change it is tried again after a second.
        for (int i = 0; i < 10 && soonest >= TimeSpan.FromMilliseconds(900); i++)
        {
            TimeSpan took = await MendAsync();
            soonest = took < soonest ? took : soonest;
        }

        Assert.True(soonest < TimeSpan.FromMilliseconds(900), $"{soonest}");
    }

    private static async Task<TimeSpan> MendAsync()
    {
        using var lab = new WatchLab();
        lab.Start("");
        bool isMended = false;
        lab.Catalog.OnReported = _ => ThrowWhile(!isMended, new InvalidOperationException("A fault."));
        lab.Write("f");
        Assert.Equal([""], (await lab.Catalog.NextAsync())!);
        long began = Stopwatch.GetTimestamp();
        isMended = true;

        lab.Write("g");

        Assert.Null(await lab.Catalog.NextAsync());
        Assert.Single(lab.Log.Lines(412));
        return Stopwatch.GetElapsedTime(began);
    }

    [Fact]
    public async Task Another_failure_is_logged_too()
    {
        _lab.Start("");
        Queue<string> causes = new(["First.", "First.", "Second."]);
        _lab.Catalog.OnReported = _ => ThrowWhile(causes.TryDequeue(out string? cause), new SiteException(cause ?? "", ""));

        for (int i = 0; i < 4; i++)
        {
            _lab.Write("f", $"{i}");
            _ = await _lab.Catalog.NextAsync();
        }

        Assert.Equal(2, _lab.Log.Lines(411).Count());
    }

    [Fact]
    public async Task Disposing_from_within_a_refresh_does_not_wait_for_itself()
    {
        _lab.Start("");
        _lab.Catalog.OnReported = _ => _lab.Watch.Dispose();

        _lab.Write("f");

        Assert.Equal([""], (await _lab.Catalog.NextAsync())!);
    }

    [Fact]
    public async Task Disposing_waits_for_the_refresh_which_may_still_show_directories()
    {
        _lab.Site.EmptyDirectory("a");
        _lab.Start("");
        using var isBusy = new SemaphoreSlim(0);
        using var mayEnd = new SemaphoreSlim(0);
        _lab.Catalog.OnReported = _ =>
        {
            isBusy.Release();
            Assert.True(mayEnd.Wait(TimeSpan.FromSeconds(60)));
            _lab.Enter("/a");
            _lab.Meet("/a/l");
            _lab.Leave("/a");
        };
        _lab.Write("f");
        Assert.True(await isBusy.WaitAsync(TimeSpan.FromSeconds(60)));

        Task disposal = Task.Run(_lab.Watch.Dispose);
        Assert.NotSame(disposal, await Task.WhenAny(disposal, isBusy.WaitAsync(TimeSpan.FromMilliseconds(50))));
        mayEnd.Release();

        await disposal.WaitAsync(TimeSpan.FromSeconds(60));
        Assert.Equal(0, _lab.Watch.WatchCount);
    }

    [Fact]
    public async Task Disposing_does_not_wait_for_whoever_holds_the_catalogs_lock_and_calls_in()
    {
        _lab.Start("");
        Lock held = new();
        using var isHeld = new SemaphoreSlim(0);
        using var mayCall = new SemaphoreSlim(0);
        Task reload = Task.Run(() =>
        {
            lock (held)
            {
                isHeld.Release();
                Assert.True(mayCall.Wait(TimeSpan.FromSeconds(60)));
                _lab.Enter("");
            }
        });
        Assert.True(await isHeld.WaitAsync(TimeSpan.FromSeconds(60)));

        await Task.Run(_lab.Watch.Dispose).WaitAsync(TimeSpan.FromSeconds(60));
        mayCall.Release();

        await reload.WaitAsync(TimeSpan.FromSeconds(60));
    }

    [Fact]
    public async Task A_source_that_fails_ends_in_revalidation()
    {
        _lab.Start("");
        _lab.Source.ReadFault = new IOException("broken");

        _lab.Write("f");

        await _lab.IsRevalidatedAsync();
        Assert.Single(_lab.Log.Lines(405));
        Assert.True(_lab.Source.IsDisposed);
    }

    private static void ThrowWhile(bool holds, Exception error)
    {
        if (holds)
        {
            throw error;
        }
    }
}
