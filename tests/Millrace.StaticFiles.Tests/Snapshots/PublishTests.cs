using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>Variants that are made while the site is served.</summary>
public sealed class PublishTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Fact]
    public async Task Published_variants_are_served_at_once_and_live_as_long_as_their_asset()
    {
        _site.File("a.txt", new string('a', 1000));
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        CatalogSnapshot first = catalog.Acquire();
        Asset asset = Assert.Single(first.AssetsToCompress());

        Assert.Equal(PublishOutcome.Published, catalog.Publish(asset, [Coded(ContentCoding.Gzip, "gz"), Coded(ContentCoding.Brotli, "br")]));

        Assert.Empty(catalog.Current.AssetsToCompress());
        Assert.Equal(CodingSet.Identity | CodingSet.Gzip | CodingSet.Brotli, asset.Codings);
        Asset gzip = asset.VariantFor(ContentCoding.Gzip)!;
        Assert.Equal("gz", first.Body(gzip));
        Assert.Equal(BodyStrategy.InMemory, gzip.Strategy);
        Assert.Equal(2, gzip.Size);
        Assert.Equal(asset.ContentType, gzip.ContentType);
        Assert.Equal(asset.LastModified, gzip.LastModified);
        Assert.Matches("^\"[A-Za-z0-9_-]{22}g\"$", gzip.Tag());
        Assert.Equal(128, catalog.CompressedBytesHeld);

        catalog.Reload();
        Assert.Equal("br", catalog.Current.Body(catalog.Current.Asset("/a.txt").VariantFor(ContentCoding.Brotli)!));
        _site.File("a.txt", new string('b', 2000));
        catalog.Refresh("");
        Assert.Null(catalog.Current.Asset("/a.txt").VariantFor(ContentCoding.Gzip));
        Assert.Equal("gz", first.Body(gzip));
        Assert.Equal(128, catalog.CompressedBytesHeld);
        first.Release();
        await first.WhenFreedAsync();
        await WaitUntil(() => catalog.CompressedBytesHeld == 0);
    }

    [Fact]
    public async Task What_changed_meanwhile_takes_no_variants()
    {
        _site.File("a.txt", new string('a', 1000));
        _site.File("b.txt", new string('b', 1000));
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Asset changed = catalog.Current.Asset("/a.txt");
        Asset stays = catalog.Current.Asset("/b.txt");
        _site.File("a.txt", new string('c', 1000));
        catalog.Refresh("");

        Assert.Equal(PublishOutcome.Obsolete, catalog.Publish(changed, [Coded(ContentCoding.Gzip, "gz")]));
        Assert.Equal(PublishOutcome.Published, catalog.Publish(stays, [Coded(ContentCoding.Gzip, "gz")]));
        catalog.Dispose();
        Assert.Equal(PublishOutcome.Obsolete, catalog.Publish(stays, [Coded(ContentCoding.Brotli, "br")]));
        await WaitUntil(() => catalog.CompressedBytesHeld == 0);
    }

    [Fact]
    public void Siblings_come_before_what_is_published_and_both_stay()
    {
        DateTime time = DateTime.UtcNow.AddDays(-1);
        File.SetLastWriteTimeUtc(_site.File("a.txt", new string('a', 1000)), time);
        File.SetLastWriteTimeUtc(_site.File("a.txt.gz", CodedContent.Gzip(new string('a', 1000))), time);
        using AssetCatalog catalog = _site.Open();
        Asset asset = Assert.Single(catalog.Current.AssetsToCompress());

        catalog.Publish(asset, [Coded(ContentCoding.Gzip, "published"), Coded(ContentCoding.Zstd, "zstd")]);

        Assert.Equal(AssetOrigin.Sibling, asset.VariantFor(ContentCoding.Gzip)!.Origin);
        Assert.Equal("zstd", catalog.Current.Body(asset.VariantFor(ContentCoding.Zstd)!));
        Assert.Equal(64, catalog.CompressedBytesHeld);
    }

    [Fact]
    public void Beyond_the_budget_nothing_is_taken()
    {
        _site.File("a.txt", new string('a', 1000));
        using var catalog = AssetCatalog.Open(_site.Options with { CompressedBytesTotalMax = 128 });
        Asset asset = catalog.Current.Asset("/a.txt");

        Assert.Equal(
            PublishOutcome.NoRoom,
            catalog.Publish(asset, [Coded(ContentCoding.Gzip, "gz"), Coded(ContentCoding.Brotli, new string('b', 65))]));

        Assert.Equal(CodingSet.Identity, asset.Codings);
        Assert.Equal(0, catalog.CompressedBytesHeld);
        Assert.Single(catalog.Current.AssetsToCompress());
        Assert.Equal(PublishOutcome.Published, catalog.Publish(asset, [Coded(ContentCoding.Gzip, new string('b', 128))]));
    }

    [Fact]
    public void That_nothing_is_gained_is_said_once()
    {
        _site.File("a.txt", new string('a', 1000));
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(PublishOutcome.Published, catalog.Publish(catalog.Current.Asset("/a.txt"), []));

        Assert.Empty(catalog.Current.AssetsToCompress());
        Assert.Equal(CodingSet.Identity, catalog.Current.Asset("/a.txt").Codings);
    }

    [Fact]
    public async Task An_interim_variant_is_served_until_a_better_one_replaces_it_and_freed_after_its_last_user()
    {
        _site.File("a.txt", new string('a', 1000));
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        CatalogSnapshot first = catalog.Acquire();
        Asset asset = first.Asset("/a.txt");
        Assert.Equal(PublishOutcome.Published, catalog.Publish(asset, [Coded(ContentCoding.Gzip, "quick")], AssetOrigin.Interim));
        Asset interim = asset.VariantFor(ContentCoding.Gzip)!;
        Assert.Equal("quick", first.Body(interim));
        Assert.False(asset.IsBackgroundCompressed);
        Assert.Same(asset, Assert.Single(first.AssetsToCompress()));

        // Another file changes: the next snapshot has the asset too, and its variants.
        _site.File("b.bin", "b");
        catalog.Refresh("");
        CatalogSnapshot second = catalog.Acquire();
        Assert.Same(interim, second.Asset("/a.txt").VariantFor(ContentCoding.Gzip));

        Assert.Equal(PublishOutcome.Published, catalog.Publish(asset, [Coded(ContentCoding.Gzip, "better"), Coded(ContentCoding.Brotli, "br")]));
        Asset better = asset.VariantFor(ContentCoding.Gzip)!;
        Assert.Equal("better", second.Body(better));
        Assert.NotEqual(interim.Tag(), better.Tag());
        Assert.Empty(second.AssetsToCompress());

        catalog.FreeReplaced();
        CatalogSnapshot third = catalog.Current;
        Assert.NotSame(second, third);
        Assert.Same(better, third.Asset("/a.txt").VariantFor(ContentCoding.Gzip));
        catalog.FreeReplaced();
        Assert.Same(third, catalog.Current);

        second.Release();
        await TempSite.QueueHasRunAsync();
        Assert.Equal("quick", first.Body(interim));
        Assert.Equal(3 * 64, catalog.CompressedBytesHeld);
        first.Release();
        await Task.WhenAll(first.WhenFreedAsync(), second.WhenFreedAsync());
        Assert.Equal(2 * 64, catalog.CompressedBytesHeld);

        File.Delete(_site.PathOf("a.txt"));
        catalog.Refresh("");
        await WaitUntil(() => catalog.CompressedBytesHeld == 0);
    }

    [Fact]
    public async Task An_interim_variant_that_was_replaced_is_freed_if_no_old_snapshot_has_its_file()
    {
        _site.File("b.bin", "b");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        CatalogSnapshot before = catalog.Acquire();
        _site.File("a.txt", new string('a', 1000));
        await TempSite.SettleAsync();
        catalog.Refresh("");
        Asset asset = catalog.Current.Asset("/a.txt");
        catalog.Publish(asset, [Coded(ContentCoding.Gzip, "quick")], AssetOrigin.Interim);
        catalog.Publish(asset, [Coded(ContentCoding.Gzip, "better")]);

        catalog.FreeReplaced();

        await WaitUntil(() => catalog.CompressedBytesHeld == 64);
        before.Release();
    }

    [Fact]
    public void An_interim_variant_replaces_none()
    {
        DateTime time = DateTime.UtcNow.AddDays(-1);
        File.SetLastWriteTimeUtc(_site.File("a.txt", new string('a', 1000)), time);
        File.SetLastWriteTimeUtc(_site.File("a.txt.gz", CodedContent.Gzip(new string('a', 1000))), time);
        File.SetLastWriteTimeUtc(_site.File("b.txt", new string('b', 1000)), time);
        using AssetCatalog catalog = _site.Open();
        Asset withSibling = catalog.Current.Asset("/a.txt");
        Asset without = catalog.Current.Asset("/b.txt");
        Assert.False(withSibling.WantsInterim);
        Assert.True(without.WantsInterim);

        catalog.Publish(withSibling, [Coded(ContentCoding.Gzip, "quick")], AssetOrigin.Interim);
        catalog.Publish(without, [Coded(ContentCoding.Gzip, "better")]);
        catalog.Publish(without, [Coded(ContentCoding.Gzip, "quick")], AssetOrigin.Interim);

        Assert.Equal(AssetOrigin.Sibling, withSibling.VariantFor(ContentCoding.Gzip)!.Origin);
        Assert.Equal("better", catalog.Current.Body(without.VariantFor(ContentCoding.Gzip)!));
        Assert.False(without.WantsInterim);
        Assert.Equal(64, catalog.CompressedBytesHeld);
    }

    [Fact]
    public async Task Interim_variants_take_half_of_the_memory_at_most()
    {
        _site.File("a.txt", new string('a', 1000));
        _site.File("b.txt", new string('b', 1000));
        _site.File("c.txt", new string('c', 1000));
        using var catalog = AssetCatalog.Open(_site.Options with { CompressedBytesTotalMax = 4 * 64 });
        CodedBody small = Coded(ContentCoding.Gzip, "quick");

        Assert.Equal(
            PublishOutcome.NoRoom,
            catalog.Publish(catalog.Current.Asset("/a.txt"), [Coded(ContentCoding.Gzip, new string('a', 129))], AssetOrigin.Interim));
        Assert.Equal(PublishOutcome.Published, catalog.Publish(catalog.Current.Asset("/a.txt"), [small], AssetOrigin.Interim));
        Assert.Equal(PublishOutcome.Published, catalog.Publish(catalog.Current.Asset("/a.txt"), [small]));
        Assert.Equal(PublishOutcome.Published, catalog.Publish(catalog.Current.Asset("/b.txt"), [small], AssetOrigin.Interim));
        Assert.False(catalog.HasRoomForInterim);
        Assert.Equal(PublishOutcome.NoRoom, catalog.Publish(catalog.Current.Asset("/c.txt"), [small], AssetOrigin.Interim));
        Assert.Equal(PublishOutcome.Published, catalog.Publish(catalog.Current.Asset("/b.txt"), [small]));

        // What was replaced is free again once no snapshot has it: both halves.
        catalog.FreeReplaced();
        await WaitUntil(() => catalog.HasRoomForInterim && catalog.CompressedBytesHeld == 2 * 64);
    }

    private static CodedBody Coded(ContentCoding coding, string content) => new(coding, Encoding.ASCII.GetBytes(content));

    private static async Task WaitUntil(Func<bool> condition)
    {
        long deadline = Environment.TickCount64 + 30_000;
        while (!condition())
        {
            Assert.True(Environment.TickCount64 < deadline, "it does not come true");
            await Task.Delay(5);
        }
    }
}
