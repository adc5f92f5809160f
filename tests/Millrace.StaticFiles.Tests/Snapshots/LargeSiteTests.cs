using System.Buffers.Binary;
using System.Diagnostics;
using System.Text;
using Microsoft.Win32.SafeHandles;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

[Collection(nameof(MeasuredAlone))]
public class LargeSiteTests(ITestOutputHelper output)
{
    private const int FileCount = 200_000;

    [Fact]
    [Trait("Duration", "Full")]
    public async Task Two_hundred_thousand_files_are_read_in_seconds_and_take_few_bytes_each()
    {
        using var site = TempSite.InMemory();
        var paths = new List<byte[]>();
        for (int i = 0; i < FileCount; i++)
        {
            string path = $"section-{i % 2000:0000}/article-{i:000000}.html";
            site.File(path, $"article {i}");
            paths.Add(Encoding.ASCII.GetBytes('/' + path));
        }

        await TempSite.SettleAsync();
        using AssetCatalog catalog = Measure("open", () => AssetCatalog.Open(site.Options with { DescriptorsMax = 0, CacheBytesMax = 6_400_000 }), out long bytes);

        output.WriteLine($"{bytes / FileCount} bytes per file, paths of {paths[0].Length}, bodies apart");
        Assert.InRange(bytes, 1, 300L * FileCount);
        Assert.Equal(FileCount, catalog.Current.AssetCount);
        Assert.Equal(2001, catalog.Current.DirectoryCount);
        Assert.Equal(100_000, CountOf(catalog.Current, paths, BodyStrategy.InMemory));
        Assert.Equal(100_000, CountOf(catalog.Current, paths, BodyStrategy.SingleRead));
        Assert.Equal("article 199999", catalog.Current.Body(Encoding.ASCII.GetString(paths[^1])));
        Assert.Equal(1, site.OpenDescriptorCount());

        site.File("section-0000/new.html", "new");
        Measure("refresh of one directory", () => catalog.Refresh("/section-0000"));
        Measure("reload", catalog.Reload);
        Assert.Equal("new", catalog.Current.Body("/section-0000/new.html"));
        Assert.Equal(FileCount + 1, catalog.Current.AssetCount);
    }

    [Fact]
    public void A_swap_copies_a_reference_per_directory_and_nothing_else()
    {
        const int Directories = 2000;
        using var site = TempSite.InMemory();
        for (int i = 0; i < Directories; i++)
        {
            site.EmptyDirectory($"d{i}");
        }

        using AssetCatalog catalog = site.Open();
        long least = long.MaxValue;
        string content = "";
        // The least of four behind a warm-up: what the runtime does once is no part of it.
        for (int i = 0; i <= 4; i++)
        {
            content += "x";
            site.File("d7/f.txt", content);
            long before = GC.GetAllocatedBytesForCurrentThread();
            catalog.Refresh("/d7");
            long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
            least = i == 0 ? least : Math.Min(least, allocated);
            Assert.Equal(content, catalog.Current.Body("/d7/f.txt"));
        }

        // The buffers of a walk and of a loader are 64 and 256 KiB.
        Assert.InRange(least, 8 * Directories, (8 * Directories) + (340 * 1024));
    }

    [Fact]
    public async Task Native_memory_does_not_grow_with_reloads()
    {
        using var site = new TempSite();
        for (int i = 0; i < 64; i++)
        {
            site.File($"f{i}", new byte[64 * 1024]);
        }

        using AssetCatalog catalog = site.Open();
        await ReloadAsync(5);
        long before = TestCalls.NativeBytesInUse();

        // 60 x 4 MiB would be 240 MiB if it leaked. What malloc has handed out, as resident pages come and go with the collector.
        await ReloadAsync(60);

        Assert.InRange(TestCalls.NativeBytesInUse() - before, long.MinValue, 4L * 1024 * 1024);

        async Task ReloadAsync(int times)
        {
            for (int i = 0; i < times; i++)
            {
                CatalogSnapshot previous = catalog.Current;
                catalog.Reload();
                await previous.WhenFreedAsync();
            }
        }
    }

    [Fact]
    public async Task A_file_written_while_it_is_read_is_never_kept_torn()
    {
        // A counter at its start is written, then the same at its end. The file never shows them more than one apart; a read of 32 MiB
        // takes thousands of times as long as a write, so one that was torn does.
        const int Size = 32 * 1024 * 1024;
        using var site = TempSite.InMemory();
        string full = site.File("f", new byte[Size]);
        using var stop = new CancellationTokenSource();
        using var started = new SemaphoreSlim(0);
        Task writer = Task.Factory.StartNew(WriteUntilStopped, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        await started.WaitAsync();

        SiteOptions options = site.Options with { CacheFileBytesMax = Size };
        using var catalog = AssetCatalog.Open(options);
        int keptChanging = 0;
        for (int i = 0; i < 10; i++)
        {
            keptChanging += catalog.Current.Skipped.Count(entry => entry.Reason == SkipReason.ChangedDuringRead);
            AssertWhole(catalog.Current.Asset("/f"));
            CatalogSnapshot previous = catalog.Current;
            catalog.Reload();
            await previous.WhenFreedAsync();
        }

        await stop.CancelAsync();
        await writer;
        Assert.True(keptChanging > 0, "no read met a write, nothing was proven");
        catalog.Reload();
        Assert.Equal(BodyStrategy.InMemory, catalog.Current.Asset("/f").Strategy);
        Assert.Equal(0, catalog.Current.SkippedCount);

        void WriteUntilStopped()
        {
            using SafeFileHandle file = File.OpenHandle(full, FileMode.Open, FileAccess.Write, FileShare.ReadWrite);
            for (uint counter = 1; !stop.IsCancellationRequested; counter++)
            {
                Overwrite(file, counter, 0);
                Overwrite(file, counter, Size - sizeof(uint));
                if (counter == 1)
                {
                    started.Release();
                }
            }
        }
    }

    private static void AssertWhole(Asset asset)
    {
        if (asset.Strategy == BodyStrategy.InMemory)
        {
            uint first = BinaryPrimitives.ReadUInt32LittleEndian(asset.InMemoryBody);
            uint last = BinaryPrimitives.ReadUInt32LittleEndian(asset.InMemoryBody[^sizeof(uint)..]);
            Assert.True(first - last <= 1, $"torn: {first} at the start, {last} at the end");
        }
    }

    private static int CountOf(CatalogSnapshot snapshot, List<byte[]> paths, BodyStrategy strategy) =>
        paths.Count(path => snapshot.TryFind(path, out Asset? asset, out _) == PathMatch.Asset && asset!.Strategy == strategy);

    private T Measure<T>(string what, Func<T> make, out long bytes)
    {
        long before = GC.GetTotalMemory(forceFullCollection: true);
        T made = default!;
        Measure(what, () => made = make());
        bytes = GC.GetTotalMemory(forceFullCollection: true) - before;
        return made;
    }

    private void Measure(string what, Action action)
    {
        long startedAt = Stopwatch.GetTimestamp();
        action();
        output.WriteLine($"{what}: {Stopwatch.GetElapsedTime(startedAt).TotalMilliseconds:0} ms");
    }

    private static void Overwrite(SafeFileHandle file, uint counter, long offset)
    {
        Span<byte> bytes = stackalloc byte[sizeof(uint)];
        BinaryPrimitives.WriteUInt32LittleEndian(bytes, counter);
        RandomAccess.Write(file, bytes, offset);
    }
}
