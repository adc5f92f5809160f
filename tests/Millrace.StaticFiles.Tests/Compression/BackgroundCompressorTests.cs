using System.Collections.Concurrent;
using System.Diagnostics;
using Millrace.Http;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Tests.Watching;

namespace Millrace.StaticFiles.Tests.Compression;

public sealed class BackgroundCompressorTests : IDisposable
{
    private readonly TempSite _site = new();
    private readonly List<Exception> _failures = [];

    public void Dispose() => _site.Dispose();

    [Fact]
    public async Task The_site_is_compressed_at_start_and_after_each_change_without_being_asked()
    {
        _site.File("a.txt", TestText.Of(5_000));
        using AssetCatalog catalog = AssetCatalog.Open(_site.Options);
        using BackgroundCompressor compressor = BackgroundCompressor.Start(catalog, _site.Options, _failures.Add);
        await WhenCompressedAsync(catalog, "/a.txt");
        Assert.InRange(compressor.ProcessorTime, TimeSpan.FromMicroseconds(1), TimeSpan.FromMinutes(1));

        for (int i = 0; i < 5; i++)
        {
            _site.File($"{i}.txt", TestText.Of(5_000, seed: i));
            catalog.Reload();
            await WhenCompressedAsync(catalog, $"/{i}.txt");
        }

        Assert.Empty(_failures);
    }

    [Fact]
    public async Task What_there_was_no_memory_for_is_compressed_when_a_slow_client_lets_go_of_what_was_before()
    {
        _site.File("small.txt", TestText.Of(1_000, seed: 1));
        _site.File("large.txt", TestText.Of(30_000, seed: 2));
        SiteOptions options = _site.Options with { CompressedBytesTotalMax = await CompressedBytesAsync() * 3 / 2 };
        using AssetCatalog catalog = AssetCatalog.Open(options);
        using BackgroundCompressor compressor = BackgroundCompressor.Start(catalog, options, _failures.Add);
        await WhenCompressedAsync(catalog, "/large.txt");
        using (new AssetCatalogLease(catalog))
        {
            _site.File("small.txt", TestText.Of(1_001, seed: 3));
            _site.File("large.txt", TestText.Of(30_001, seed: 4));
            catalog.Reload();
            await WhenCompressedAsync(catalog, "/small.txt");
            await TempSite.UntilAsync(() => !compressor.IsWorking);
            using AssetCatalogLease now = new(catalog);
            Assert.False(now.Snapshot.Asset("/large.txt").IsBackgroundCompressed);
        }

        await WhenCompressedAsync(catalog, "/large.txt");
        Assert.Empty(_failures);
    }

    [Fact]
    public async Task It_stops_in_the_middle_of_its_work_and_leaves_no_thread()
    {
        for (int i = 0; i < 40; i++)
        {
            _site.File($"{i}.txt", TestText.Of(1_000_000, seed: i));
        }

        _site.File("first.txt", TestText.Of(5_000));
        using AssetCatalog catalog = AssetCatalog.Open(_site.Options);
        using (BackgroundCompressor.Start(catalog, _site.Options, _failures.Add))
        {
            await WhenCompressedAsync(catalog, "/first.txt");
        }

        using AssetCatalogLease lease = new(catalog);
        Assert.Contains(Enumerable.Range(0, 40), i => !lease.Snapshot.Asset($"/{i}.txt").IsBackgroundCompressed);
        Assert.Empty(_failures);
    }

    [Fact]
    public async Task Its_thread_is_the_nicest()
    {
        _site.File("a.txt", TestText.Of(5_000));
        using AssetCatalog catalog = AssetCatalog.Open(_site.Options);
        using BackgroundCompressor compressor = BackgroundCompressor.Start(catalog, _site.Options, _failures.Add);
        await WhenCompressedAsync(catalog, "/a.txt");

        Assert.Contains(Directory.GetDirectories("/proc/self/task"), IsNiceCompressor);
    }

    [Fact]
    public async Task A_file_that_fails_is_reported_and_tried_again_and_keeps_no_other_from_being_compressed()
    {
        byte[] bad = TestText.Of(1_000, seed: 1);
        _site.File("bad.txt", bad);
        _site.File("good.txt", TestText.Of(5_000, seed: 2));
        bool fails = true;
        var failures = new ConcurrentQueue<Exception>();
        using AssetCatalog catalog = AssetCatalog.Open(_site.Options);
        using BackgroundCompressor compressor = BackgroundCompressor.Start(catalog, _site.Options, failures.Enqueue, code: Code);

        await WhenCompressedAsync(catalog, "/good.txt");
        await TempSite.UntilAsync(() => !compressor.IsWorking);
        Assert.Equal("no such luck", Assert.Single(failures).Message);

        _site.File("later.txt", TestText.Of(5_000, seed: 3));
        catalog.Reload();
        await WhenCompressedAsync(catalog, "/later.txt");

        Volatile.Write(ref fails, false);
        _site.File("last.txt", TestText.Of(5_000, seed: 4));
        catalog.Reload();
        await WhenCompressedAsync(catalog, "/bad.txt");

        bool Code(ReadOnlySpan<byte> body, ContentCoding coding, CancellationToken stop, out byte[] coded) =>
            Volatile.Read(ref fails) && body.SequenceEqual(bad)
                ? throw new InvalidOperationException("no such luck")
                : BodyCoder.TryCode(body, coding, stop, out coded);
    }

    [Fact]
    public async Task The_same_failure_is_logged_once_while_it_lasts_and_again_after_all_was_compressed()
    {
        bool fails = true;
        int tries = 0;
        var log = new RecordingLog();
        var siteLog = new SiteLog(log);
        using AssetCatalog catalog = AssetCatalog.Open(_site.Options);
        using BackgroundCompressor compressor = BackgroundCompressor.Start(
            catalog, _site.Options, siteLog.ReportCompressionFailure, siteLog.ReportCompressionSuccess, Code);

        await FailAsync("a.txt");
        await FailAsync("b.txt");
        Assert.Single(log.Lines(422));

        Volatile.Write(ref fails, false);
        Add("c.txt");
        await WhenCompressedAsync(catalog, "/a.txt");
        await WhenCompressedAsync(catalog, "/c.txt");
        await TempSite.UntilAsync(() => !compressor.IsWorking);

        Volatile.Write(ref fails, true);
        await FailAsync("d.txt");
        Assert.Equal(2, log.Lines(422).Count());

        async Task FailAsync(string name)
        {
            int before = Volatile.Read(ref tries);
            Add(name);
            await TempSite.UntilAsync(() => Volatile.Read(ref tries) > before && !compressor.IsWorking);
        }

        void Add(string name)
        {
            _site.File(name, TestText.Of(5_000, seed: name[0]));
            catalog.Reload();
        }

        bool Code(ReadOnlySpan<byte> body, ContentCoding coding, CancellationToken stop, out byte[] coded)
        {
            Interlocked.Increment(ref tries);
            return Volatile.Read(ref fails) ? throw new IOException("no memory left") : BodyCoder.TryCode(body, coding, stop, out coded);
        }
    }

    [Fact]
    public async Task What_nobody_expected_is_reported()
    {
        AssetCatalog catalog = AssetCatalog.Open(_site.Options);
        catalog.Dispose();
        var reported = new TaskCompletionSource<Exception>(TaskCreationOptions.RunContinuationsAsynchronously);

        using BackgroundCompressor compressor = BackgroundCompressor.Start(catalog, _site.Options, reported.SetResult);

        Assert.IsType<ObjectDisposedException>(await reported.Task.WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken));
    }

    /// <summary>What the variants of the site as it is now take.</summary>
    private async Task<long> CompressedBytesAsync()
    {
        using AssetCatalog catalog = AssetCatalog.Open(_site.Options);
        using BackgroundCompressor compressor = BackgroundCompressor.Start(catalog, _site.Options, _failures.Add);
        await WhenCompressedAsync(catalog, "/small.txt");
        await WhenCompressedAsync(catalog, "/large.txt");
        return catalog.CompressedBytesHeld;
    }

    /// <summary>Name and niceness are the 2nd and the 19th field of stat (proc(5)); names are cut to 15 characters.</summary>
    private static bool IsNiceCompressor(string task)
    {
        try
        {
            string stat = File.ReadAllText($"{task}/stat");
            return stat.Contains("(millrace-compre)", StringComparison.Ordinal) && stat[(stat.LastIndexOf(')') + 2)..].Split(' ')[16] == "19";
        }
        catch (IOException)
        {
            // A thread of another test that ended meanwhile.
            return false;
        }
    }

    private static async Task WhenCompressedAsync(AssetCatalog catalog, string path)
    {
        var waited = Stopwatch.StartNew();
        while (true)
        {
            using (AssetCatalogLease lease = new(catalog))
            {
                if (lease.Snapshot.Asset(path).Codings == (CodingSet.Identity | CodingSet.Brotli | CodingSet.Zstd | CodingSet.Gzip))
                {
                    return;
                }
            }

            Assert.True(waited.Elapsed < TimeSpan.FromSeconds(60), $"{path} is not compressed");
            await Task.Delay(5, TestContext.Current.CancellationToken);
        }
    }

    private sealed class AssetCatalogLease(AssetCatalog catalog) : IDisposable
    {
        public CatalogSnapshot Snapshot { get; } = catalog.Acquire();

        public void Dispose() => Snapshot.Release();
    }
}
