using System.Runtime.CompilerServices;
using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Compression;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>That nothing is freed while somebody may reach it, and everything when nobody can.</summary>
public sealed class DeferredFreeTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Fact]
    public async Task What_a_snapshot_dropped_waits_for_all_older_ones()
    {
        // The asset is part of the first two snapshots; the second is released first, the first still shows it.
        _site.File("f.txt", "shared");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        CatalogSnapshot first = catalog.Acquire();
        _site.File("other.txt", "x");
        await TempSite.SettleAsync();
        catalog.Refresh("");
        CatalogSnapshot second = catalog.Acquire();
        Asset asset = second.Asset("/f.txt");
        Assert.Same(first.Asset("/f.txt"), asset);
        File.Delete(_site.PathOf("f.txt"));
        catalog.Refresh("");

        second.Release();
        await TempSite.QueueHasRunAsync();

        Assert.False(second.Freed.IsCompleted);
        Assert.Equal("shared", Encoding.ASCII.GetString(first.Asset("/f.txt").InMemoryBody));
        Assert.Equal(2 * 64, catalog.InMemoryBytesHeld);
        first.Release();
        await Task.WhenAll(first.WhenFreedAsync(), second.WhenFreedAsync());
        Assert.Equal(64, catalog.InMemoryBytesHeld);
    }

    [Fact]
    public async Task What_came_and_went_while_an_old_snapshot_is_held_does_not_wait_for_it()
    {
        // A client that takes an hour for its download, while a log is written: nothing between then and now may be kept for it.
        _site.File("f.txt", "first");
        _site.File("held.bin", new byte[100_000]);
        using AssetCatalog catalog = _site.Open();
        CatalogSnapshot held = catalog.Acquire();
        var passed = new List<WeakReference>();
        for (int i = 0; i < 20; i++)
        {
            ReplaceAll(catalog, passed, i);
        }

        await TempSite.UntilAsync(() => catalog.InMemoryBytesHeld == 2 * 64 && catalog.DescriptorsHeld == 2);
        await TempSite.UntilAsync(() =>
        {
            GC.Collect();
            return passed.Count(snapshot => snapshot.IsAlive) <= 1;
        });

        Assert.Equal("first", held.Body("/f.txt"));
        Assert.Equal("change 19", catalog.Current.Body("/f.txt"));
        held.Release();
        await TempSite.UntilAsync(() => catalog.InMemoryBytesHeld == 64 && catalog.DescriptorsHeld == 1);
    }

    [Fact]
    public async Task What_an_old_snapshot_dropped_is_freed_while_newer_ones_live()
    {
        _site.File("f.bin", new byte[100_000]);
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        CatalogSnapshot first = catalog.Acquire();
        File.Delete(_site.PathOf("f.bin"));
        catalog.Refresh("");
        CatalogSnapshot second = catalog.Acquire();

        first.Release();
        await first.WhenFreedAsync();

        Assert.Equal(0, catalog.DescriptorsHeld);
        Assert.Equal(1, _site.OpenDescriptorCount());
        second.Release();
    }

    [Fact]
    public async Task A_root_is_closed_with_the_last_snapshot_that_has_it()
    {
        _site.File("f.txt", "one");
        using var catalog = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 0, DescriptorsMax = 0 });
        CatalogSnapshot first = catalog.Acquire();
        _site.File("f.txt", "two");
        catalog.Refresh("");
        CatalogSnapshot second = catalog.Acquire();
        Assert.Equal(1, _site.OpenDescriptorCount());
        catalog.Reload();
        Assert.Equal(2, _site.OpenDescriptorCount());

        second.Release();
        await TempSite.QueueHasRunAsync();
        Assert.Equal("two", first.Body("/f.txt"));
        first.Release();
        await second.WhenFreedAsync();

        Assert.Equal(1, _site.OpenDescriptorCount());
    }

    [Fact]
    public async Task Readers_see_whole_bodies_while_files_are_swapped_refreshed_and_published_under_them()
    {
        // Every body says its name and version many times over, so one that is freed too early (a debug build overwrites it), or mixed
        // of two, shows. Some files change in each round, others stay for many: those are shared by many snapshots.
        const int Files = 8;
        const int Rounds = 250;
        for (int i = 0; i < Files; i++)
        {
            Write(i, 0);
        }

        Site site = _site.OpenUnwatched();
        AssetCatalog catalog = site.Catalog;
        var seen = new List<CatalogSnapshot> { catalog.Current };
        using var stop = new CancellationTokenSource();
        Task<int>[] readers = [.. Enumerable.Range(0, 3).Select(reader => Task.Factory.StartNew(
            () => ReadUntil(site, reader, Files, stop.Token), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default))];

        for (int round = 1; round <= Rounds && !readers.Any(reader => reader.IsFaulted); round++)
        {
            Write(0, round);
            Write(round % Files, round);
            if (round % 10 == 0)
            {
                catalog.Reload();
            }
            else
            {
                catalog.Refresh("/d");
            }

            seen.Add(catalog.Current);
            PublishSome(catalog);
        }

        await stop.CancelAsync();
        int[] requests = await Task.WhenAll(readers);
        site.Dispose();
        await Task.WhenAll(seen.Select(snapshot => snapshot.WhenFreedAsync()));

        Assert.All(requests, count => Assert.True(count > 0));
        Assert.Equal(0, _site.OpenDescriptorCount());
        Assert.Equal(0, catalog.InMemoryBytesHeld);
        Assert.Equal(0, catalog.CompressedBytesHeld);
        Assert.Equal(0, catalog.DescriptorsHeld);
    }

    /// <summary>In a frame of its own: a debug build keeps what a method has in hand until it returns.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void ReplaceAll(AssetCatalog catalog, List<WeakReference> passed, int version)
    {
        _site.File("f.txt", $"change {version}");
        _site.File("held.bin", new byte[100_000 + version]);
        catalog.Refresh("");
        passed.Add(new WeakReference(catalog.Current));
    }

    private void Write(int file, int version)
    {
        _site.File("next", BodyOf(file, version));
        Directory.CreateDirectory(_site.PathOf("d"));
        File.Move(_site.PathOf("next"), _site.PathOf($"d/f{file}.txt"), overwrite: true);
    }

    private static string BodyOf(int file, int version) => string.Concat(Enumerable.Repeat($"[{file}:{version}]", 100));

    private static void PublishSome(AssetCatalog catalog)
    {
        CatalogSnapshot snapshot = catalog.Acquire();
        foreach (Asset asset in snapshot.AssetsToCompress().Take(2))
        {
            Assert.True(BodyCoder.TryCode(asset.InMemoryBody, ContentCoding.Zstd, CancellationToken.None, out byte[] coded));
            PublishOutcome outcome = catalog.Publish(asset, [new CodedBody(ContentCoding.Zstd, coded)]);

            // The site compresses in the background meanwhile, and may have been faster.
            Assert.True(outcome == PublishOutcome.Published || asset.IsBackgroundCompressed, $"{outcome}");
        }

        snapshot.Release();
    }

    /// <summary>What a reactor does: moves to the latest snapshot, serves requests, some of which end many iterations later.</summary>
    private static int ReadUntil(Site site, int reader, int files, CancellationToken stop)
    {
        using var binding = new SiteBinding(site);
        var inFlight = new Queue<(CatalogSnapshot Snapshot, Asset Asset)>();
        int requests = 0;
        for (int iteration = 0; !stop.IsCancellationRequested; iteration++)
        {
            binding.AcquireLatest();
            binding.BeginUse();
            Asset asset = binding.Current.Asset($"/d/f{iteration % files}.txt");
            inFlight.Enqueue((binding.Current, asset.VariantFor(ContentCoding.Zstd) ?? asset));
            // Readers are as far behind as they are slow: their snapshots end in another order than they began.
            if (inFlight.Count > 1 + (10 * reader))
            {
                End(binding, inFlight.Dequeue());
                requests++;
            }
        }

        while (inFlight.TryDequeue(out (CatalogSnapshot, Asset) left))
        {
            End(binding, left);
        }

        return requests;
    }

    private static void End(SiteBinding binding, (CatalogSnapshot Snapshot, Asset Asset) request)
    {
        Asset asset = request.Asset;
        string body = Encoding.ASCII.GetString(
            asset.Coding == ContentCoding.Identity ? asset.InMemoryBody : TestText.Decode(asset.Coding, asset.InMemoryBody));
        string first = body[..(body.IndexOf(']', StringComparison.Ordinal) + 1)];
        Assert.StartsWith("[", first, StringComparison.Ordinal);
        Assert.Equal(string.Concat(Enumerable.Repeat(first, 100)), body);
        binding.EndUse(request.Snapshot);
    }
}
