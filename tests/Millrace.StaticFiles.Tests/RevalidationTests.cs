using Microsoft.Extensions.Logging.Abstractions;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Tests.Watching;

namespace Millrace.StaticFiles.Tests;

/// <summary>What revalidation asks of the disk.</summary>
public sealed class RevalidationTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Fact]
    public async Task A_directory_that_changed_is_listed_once_however_many_ask()
    {
        const int Askers = 32;
        for (int i = 0; i < 2000; i++)
        {
            _site.File($"d/{i}.txt", "x");
        }

        await TempSite.SettleAsync();
        using var site = Site.Open(_site.Options with { Watch = WatchMode.Revalidate }, NullLoggerFactory.Instance);
        _site.File("d/new.txt", "x");
        await TempSite.SettleAsync();
        using var watch = new OpenWatch(_site.PathOf("d"));

        await Task.WhenAll(Enumerable.Range(0, Askers).Select(_ => site.RevalidateAsync("/d/new.txt"u8.ToArray(), [], [])));

        // inotify makes one of equal records that follow each other: what is opened besides the directory is the new file.
        Assert.Equal(["", "new.txt"], watch.Opened());
    }

    [Fact]
    public async Task A_rule_file_whose_disk_fails_is_not_read_again_by_each_request()
    {
        _site.File("f.txt", "x");
        string rules = _site.File("_headers", "/*\n X: one\n");
        await TempSite.SettleAsync();
        using var site = Site.Open(_site.Options with { Watch = WatchMode.Revalidate }, NullLoggerFactory.Instance);
        _site.File("_headers", "/*\n X: two\n");
        await TempSite.SettleAsync();
        using var watch = new OpenWatch(_site.Root);
        using (new FileLease(rules))
        {
            for (int i = 0; i < 50; i++)
            {
                await site.RevalidateAsync("/f.txt"u8.ToArray(), [], []);

                // So that records of one listing and the next are not made one.
                _ = await File.ReadAllTextAsync(_site.PathOf("f.txt"), TestContext.Current.CancellationToken);
            }

            // Twice for what was seen to change and what was tried again; once more if this took longer than a second.
            Assert.InRange(watch.Opened().Count(static name => name.Length == 0), 1, 10);
        }
    }

    [Fact]
    public async Task A_root_that_cannot_be_read_is_logged_once_and_once_when_it_is_read_again()
    {
        _site.File("f.txt", "x");
        using var log = new RecordingLog();
        using var site = Site.Open(_site.Options with { Watch = WatchMode.Revalidate }, log);
        string gone = _site.Root + ".gone";

        Directory.Move(_site.Root, gone);
        await AskAsync(site, 200);
        Directory.Move(gone, _site.Root);
        await AskAsync(site, 200);

        Assert.Single(log.Lines(411));
        Assert.Single(log.Lines(413));
    }

    [Fact]
    public async Task A_failure_that_comes_and_goes_with_each_request_is_logged_a_few_times()
    {
        _site.File("f.txt", "x");
        using var log = new RecordingLog();
        using var site = Site.Open(_site.Options with { Watch = WatchMode.Revalidate }, log);
        string gone = _site.Root + ".gone";

        for (int i = 0; i < 100; i++)
        {
            Directory.Move(_site.Root, gone);
            await AskAsync(site, 1);
            Directory.Move(gone, _site.Root);
            await AskAsync(site, 1);
        }

        // Five in ten seconds, and this may take some of them.
        Assert.InRange(log.Lines(411).Count(), 1, 50);
        Assert.Equal(log.Lines(411).Count(), log.Lines(413).Count());
    }

    private static Task AskAsync(Site site, int times) =>
        Task.WhenAll(Enumerable.Range(0, times).Select(_ => site.RevalidateAsync("/f.txt"u8.ToArray(), [], [])));
}
