using Millrace.Http;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Compression;

public sealed class CompressionPassTests : IDisposable
{
    private readonly TempSite _site = new();

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData("InMemory", 100_000, 0, 10)]
    [InlineData("SingleRead", 0, 100_000, 10)]
    [InlineData("SendFile", 0, 0, 10)]
    [InlineData("on demand", 0, 0, 0)]
    public void A_text_gets_its_variants_wherever_its_bytes_are(string how, int inMemoryBytesMax, int readBytesMax, int descriptorsMax)
    {
        byte[] body = TestText.Of(10_000);
        _site.File("a.txt", body);
        SiteOptions options = _site.Options with
        {
            CacheFileBytesMax = inMemoryBytesMax,
            ReadBytesMax = readBytesMax,
            DescriptorsMax = descriptorsMax,
        };
        using AssetCatalog catalog = AssetCatalog.Open(options);

        Assert.Equal(PassOutcome.Complete, Run(catalog, options));

        Asset asset = AssetAt(catalog, "/a.txt");
        Assert.Equal(how, asset.Descriptor == Asset.NoDescriptor && asset.Strategy != BodyStrategy.InMemory ? "on demand" : $"{asset.Strategy}");
        AssertHas(asset, ContentCoding.Brotli, body);
        AssertHas(asset, ContentCoding.Zstd, body);
        AssertHas(asset, ContentCoding.Gzip, body);
        Assert.Equal(how == "InMemory" ? 0 : descriptorsMax / 10, _site.OpenDescriptorCount() - 1);
    }

    [Fact]
    public void What_gains_nothing_is_left_alone()
    {
        _site.File("a.png", TestText.Of(10_000));
        _site.File("small.txt", TestText.Of(255));
        _site.File("noise.txt", TestText.Noise(10_000));
        _site.File("huge.txt", new byte[BodyCoder.BytesMax + 1]);
        using AssetCatalog catalog = AssetCatalog.Open(_site.Options);

        Assert.Equal(PassOutcome.Complete, Run(catalog));

        Assert.All(["/a.png", "/small.txt", "/noise.txt", "/huge.txt"], path =>
            Assert.Equal(CodingSet.Identity, AssetAt(catalog, path).Codings));
        Assert.Equal(0, catalog.CompressedBytesHeld);
    }

    [Fact]
    public async Task What_was_tried_once_is_not_tried_again()
    {
        _site.File("noise.txt", TestText.Noise(10_000));
        _site.File("a.txt", TestText.Of(10_000));
        // A file that was changed just now is read again by the next reload, as it may have changed once more.
        await Task.Delay(100, TestContext.Current.CancellationToken);
        using AssetCatalog catalog = AssetCatalog.Open(_site.Options);
        Run(catalog);
        Asset? variant = AssetAt(catalog, "/a.txt").VariantFor(ContentCoding.Gzip);
        long held = catalog.CompressedBytesHeld;
        Assert.NotNull(variant);
        Assert.True(AssetAt(catalog, "/noise.txt").IsBackgroundCompressed);

        _site.File("b.txt", TestText.Of(500));
        catalog.Reload();
        Run(catalog);

        Assert.Same(variant, AssetAt(catalog, "/a.txt").VariantFor(ContentCoding.Gzip));
        Assert.NotNull(AssetAt(catalog, "/b.txt").VariantFor(ContentCoding.Gzip));
        Assert.True(catalog.CompressedBytesHeld > held);
    }

    [Fact]
    public void A_sibling_stays_and_only_what_it_is_not_is_added()
    {
        byte[] body = TestText.Of(10_000);
        _site.File("a.txt", body);
        Assert.True(BodyCoder.TryCode(body, ContentCoding.Brotli, CancellationToken.None, out byte[] coded));
        _site.File("a.txt.br", coded);
        using AssetCatalog catalog = _site.Open();
        Asset? sibling = AssetAt(catalog, "/a.txt").VariantFor(ContentCoding.Brotli);
        Assert.NotNull(sibling);

        Run(catalog);

        Assert.Same(sibling, AssetAt(catalog, "/a.txt").VariantFor(ContentCoding.Brotli));
        AssertHas(AssetAt(catalog, "/a.txt"), ContentCoding.Gzip, body);
        Assert.Null(AssetAt(catalog, "/a.txt").VariantFor(ContentCoding.Zstd));
    }

    [Fact]
    public void Beside_gzip_alone_both_others_are_made()
    {
        byte[] body = TestText.Of(10_000);
        _site.File("a.txt", body);
        Assert.True(BodyCoder.TryCode(body, ContentCoding.Gzip, CancellationToken.None, out byte[] coded));
        _site.File("a.txt.gz", coded);
        using AssetCatalog catalog = _site.Open();

        Run(catalog);

        AssertHas(AssetAt(catalog, "/a.txt"), ContentCoding.Brotli, body);
        AssertHas(AssetAt(catalog, "/a.txt"), ContentCoding.Zstd, body);
    }

    [Fact]
    public void Memory_goes_to_the_smallest_and_is_never_exceeded()
    {
        for (int i = 1; i <= 20; i++)
        {
            _site.File($"{i % 3}/{i}.txt", TestText.Of(i * 1000, seed: i));
        }

        SiteOptions options = _site.Options with { CompressedBytesTotalMax = 30_000 };
        using AssetCatalog catalog = AssetCatalog.Open(options);
        Assert.Equal(PassOutcome.NoRoom, Run(catalog, options));

        bool[] compressed = [.. Enumerable.Range(1, 20).Select(i => AssetAt(catalog, $"/{i % 3}/{i}.txt").Codings != CodingSet.Identity)];
        int count = compressed.Count(isCompressed => isCompressed);
        Assert.InRange(count, 2, 18);
        Assert.All(compressed[..count], Assert.True);
        Assert.InRange(catalog.CompressedBytesHeld, 1, 30_000);
    }

    [Fact]
    public async Task What_there_was_no_memory_for_is_compressed_when_there_is_some_again()
    {
        _site.File("a.txt", TestText.Of(30_000, seed: 1));
        _site.File("b.txt", TestText.Of(30_001, seed: 2));
        SiteOptions options = _site.Options with { CompressedBytesTotalMax = 45_000 };
        await TempSite.SettleAsync();
        using AssetCatalog catalog = AssetCatalog.Open(options);
        var pass = PassOver(catalog, options.CompressedBytesTotalMax);
        pass.Run(CancellationToken.None);
        pass.Run(CancellationToken.None);
        Assert.False(AssetAt(catalog, "/b.txt").IsBackgroundCompressed);

        File.Delete(_site.PathOf("a.txt"));
        CatalogSnapshot before = catalog.Current;
        catalog.Reload();
        await before.WhenFreedAsync();
        pass.Run(CancellationToken.None);

        AssertHas(AssetAt(catalog, "/b.txt"), ContentCoding.Brotli, TestText.Of(30_001, seed: 2));
    }

    [Fact]
    public void A_file_that_changed_in_place_gets_no_variants_of_either_content()
    {
        _site.File("a.txt", TestText.Of(10_000, seed: 1));
        SiteOptions options = _site.Options with { CacheFileBytesMax = 0 };
        using AssetCatalog catalog = AssetCatalog.Open(options);

        File.WriteAllBytes(_site.PathOf("a.txt"), TestText.Of(10_000, seed: 2));
        Run(catalog, options);

        Assert.Equal(CodingSet.Identity, AssetAt(catalog, "/a.txt").Codings);
        Assert.False(AssetAt(catalog, "/a.txt").IsBackgroundCompressed);

        catalog.Reload();
        Run(catalog, options);
        AssertHas(AssetAt(catalog, "/a.txt"), ContentCoding.Brotli, TestText.Of(10_000, seed: 2));
    }

    [Fact]
    public async Task A_change_ends_the_pass_and_what_is_old_is_freed_meanwhile()
    {
        // A minute's work, of which some tenths of a second are done.
        for (int i = 0; i < 400; i++)
        {
            _site.File($"{i}.txt", TestText.Of(100_000, seed: i));
        }

        using AssetCatalog catalog = AssetCatalog.Open(_site.Options);
        CatalogSnapshot before = catalog.Current;
        Task<PassOutcome> pass = Task.Run(() => Run(catalog));
        while (!AssetAt(catalog, "/0.txt").IsBackgroundCompressed)
        {
            Assert.False(pass.IsCompleted);
            await Task.Delay(5, TestContext.Current.CancellationToken);
        }

        _site.File("new.html", "new");
        catalog.Reload();

        Assert.Equal(PassOutcome.Superseded, await pass);
        await before.WhenFreedAsync();
    }

    [Theory]
    [InlineData(0)]
    [InlineData(50)]
    public void A_pass_that_is_stopped_does_not_pass_what_it_has_for_all_there_is(int stopAfterMs)
    {
        _site.File("a.txt", TestText.Of(1024 * 1024));
        using AssetCatalog catalog = AssetCatalog.Open(_site.Options);
        using var stop = new CancellationTokenSource();
        // On a thread of its own: the pool's timers are late where others keep it busy.
        var stopper = new Thread(() =>
        {
            stop.Token.WaitHandle.WaitOne(stopAfterMs);
            stop.Cancel();
        });
        stopper.Start();
        if (stopAfterMs == 0)
        {
            stopper.Join();
        }

        Assert.Equal(PassOutcome.Stopped, PassOver(catalog, 1_000_000).Run(stop.Token));
        stopper.Join();

        Assert.False(AssetAt(catalog, "/a.txt").IsBackgroundCompressed);
        Assert.Equal(CodingSet.Identity, AssetAt(catalog, "/a.txt").Codings);
    }

    [Fact]
    public void Replicas_agree_on_the_tags_of_variants()
    {
        using var other = new TempSite();
        _site.File("a.txt", TestText.Of(10_000));
        other.File("a.txt", TestText.Of(10_000));
        using AssetCatalog catalog = AssetCatalog.Open(_site.Options);
        using AssetCatalog replica = AssetCatalog.Open(other.Options);
        Run(catalog);
        Run(replica);

        foreach (ContentCoding coding in BodyCoder.Codings)
        {
            byte[] tag = AssetAt(catalog, "/a.txt").VariantFor(coding)!.EntityTag.ToArray();
            Assert.NotEmpty(tag);
            Assert.Equal(tag, AssetAt(replica, "/a.txt").VariantFor(coding)!.EntityTag.ToArray());
        }
    }

    private PassOutcome Run(AssetCatalog catalog, SiteOptions? options = null) =>
        PassOver(catalog, (options ?? _site.Options).CompressedBytesTotalMax).Run(CancellationToken.None);

    private static CompressionPass PassOver(AssetCatalog catalog, long bytesMax) =>
        new(catalog, bytesMax, error => Assert.Fail($"{error}"), BodyCoder.TryCode, TimeProvider.System);

    private static void AssertHas(Asset asset, ContentCoding coding, byte[] body)
    {
        Asset? variant = asset.VariantFor(coding);
        Assert.NotNull(variant);
        Assert.Equal(coding, variant.Coding);
        Assert.Equal(body, TestText.Decode(coding, variant.InMemoryBody));
    }

    private static Asset AssetAt(AssetCatalog catalog, string path)
    {
        CatalogSnapshot snapshot = catalog.Acquire();
        Asset asset = snapshot.Asset(path);
        snapshot.Release();
        return asset;
    }
}
