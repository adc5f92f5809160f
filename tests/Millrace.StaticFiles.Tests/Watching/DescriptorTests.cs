using System.Diagnostics;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Tests.Snapshots;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>What a watch takes from the process, it gives back.</summary>
[Collection(nameof(MeasuredAlone))]
public class DescriptorTests
{
    [Fact]
    public async Task Watches_that_come_and_go_leave_no_descriptor()
    {
        int before = Count();
        for (int i = 0; i < 20; i++)
        {
            TempSite site = await WatchOnceAsync();
            Assert.Equal(0, site.OpenDescriptorCount());
        }

        Assert.InRange(Count(), 0, before);
    }

    [Fact]
    public void A_watch_that_was_never_started_leaves_none_either()
    {
        int before = Count();
        for (int i = 0; i < 20; i++)
        {
            TempSite site = EnterOnce();
            Assert.Equal(0, site.OpenDescriptorCount());
        }

        Assert.InRange(Count(), 0, before);
    }

    [Fact]
    public void Disposing_is_prompt_while_nothing_happens()
    {
        var soonest = TimeSpan.MaxValue;
        // The best of some: others have the machine too.
        for (int i = 0; i < 10 && soonest >= TimeSpan.FromSeconds(1); i++)
        {
            var lab = new WatchLab();
            lab.Start("");
            long began = Stopwatch.GetTimestamp();
            lab.Dispose();
            TimeSpan took = Stopwatch.GetElapsedTime(began);
            soonest = took < soonest ? took : soonest;
        }

        Assert.True(soonest < TimeSpan.FromSeconds(1), $"{soonest}");
    }

    private static async Task<TempSite> WatchOnceAsync()
    {
        using var lab = new WatchLab();
        lab.Site.File(".data/f", "");
        lab.Site.Symlink("l", ".data/f");
        lab.Start("");
        lab.Write(".data/f");
        await lab.Catalog.RefreshAsync("");
        return lab.Site;
    }

    private static TempSite EnterOnce()
    {
        using var lab = new WatchLab();
        lab.Enter("");
        return lab.Site;
    }

    /// <summary>Not what points into sites: the catalogs of tests before give theirs back on the thread pool, in its own time.</summary>
    private static int Count() => Directory.GetFileSystemEntries("/proc/self/fd")
        .Select(TestCalls.TryReadLink)
        .Count(target => target is not null
            && (target.Contains("inotify", StringComparison.Ordinal) || target.Contains("eventfd", StringComparison.Ordinal)));
}
