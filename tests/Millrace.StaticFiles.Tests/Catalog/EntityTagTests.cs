using System.Globalization;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Catalog;

/// <summary>What a representation is known by again.</summary>
public sealed class EntityTagTests : IDisposable
{
    private static readonly DateTime Old = new(2024, 5, 6, 7, 8, 9, DateTimeKind.Utc);

    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Fact]
    public void A_content_has_one_tag_wherever_and_whenever_it_lies()
    {
        using var replica = TempSite.InMemory();
        File.SetLastWriteTimeUtc(_site.File("a.txt", "content"), Old);
        _site.File("d/b.txt", "content");
        _site.File("other.txt", "Content");
        replica.File("a.txt", "content");
        using AssetCatalog catalog = _site.Open();
        using AssetCatalog other = replica.Open();

        string tag = catalog.Current.Asset("/a.txt").Tag();
        Assert.Matches("^\"[A-Za-z0-9_-]{22}\"$", tag);
        Assert.Equal(tag, catalog.Current.Asset("/d/b.txt").Tag());
        Assert.Equal(tag, other.Current.Asset("/a.txt").Tag());
        Assert.NotEqual(tag, catalog.Current.Asset("/other.txt").Tag());
    }

    [Fact]
    public void Whether_a_file_is_in_memory_makes_no_difference_to_its_tag()
    {
        byte[] content = new byte[200_000];
        new Random(7).NextBytes(content);
        _site.File("f.bin", content);
        _site.File("empty", "");
        using AssetCatalog onFile = _site.Open();
        using var baked = AssetCatalog.Open(_site.Options with { BakedBytesMax = 200_000 });
        using var inParts = AssetCatalog.Open(_site.Options with { BakedBytesMax = 0, RingBytesMax = 1_000_000 });

        foreach (string path in new[] { "/f.bin", "/empty" })
        {
            Assert.Equal(baked.Current.Asset(path).Tag(), onFile.Current.Asset(path).Tag());
            Assert.Equal(baked.Current.Asset(path).Tag(), inParts.Current.Asset(path).Tag());
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(500_000)]
    [InlineData(10_000_000)]
    public void Whether_there_is_memory_for_a_file_makes_no_difference_to_its_tag(long memory)
    {
        byte[] content = new byte[400_000];
        new Random(7).NextBytes(content);
        using var replica = TempSite.InMemory();
        foreach (string name in (string[])["a.bin", "b.bin"])
        {
            _site.File(name, content);
            File.SetLastWriteTimeUtc(replica.File(name, content), Old);
        }

        SiteOptions Of(TempSite site) => site.Options with { BakedBytesMax = 1_000_000, RingBytesMax = 200_000 };
        using var plenty = AssetCatalog.Open(Of(replica) with { BakedBytesTotalMax = 10_000_000 });
        using var catalog = AssetCatalog.Open(Of(_site) with { BakedBytesTotalMax = memory });

        Assert.Equal(memory >= 500_000, catalog.Current.Asset("/a.bin").Strategy == BodyStrategy.Baked);
        Assert.Equal(memory >= 1_000_000, catalog.Current.Asset("/b.bin").Strategy == BodyStrategy.Baked);
        foreach (string path in (string[])["/a.bin", "/b.bin"])
        {
            Assert.Equal(plenty.Current.Asset(path).Tag(), catalog.Current.Asset(path).Tag());
        }
    }

    [Fact]
    public void What_is_in_memory_beyond_the_budget_of_hashing_is_known_by_its_time()
    {
        File.SetLastWriteTimeUtc(_site.File("f.bin", new byte[5_000]), Old);
        using var baked = AssetCatalog.Open(_site.Options with { BakedBytesMax = 10_000, HashedBytesTotalMax = 3_000 });
        using var onFile = AssetCatalog.Open(_site.Options with { BakedBytesMax = 10_000, HashedBytesTotalMax = 3_000, BakedBytesTotalMax = 0 });

        Assert.Equal(BodyStrategy.Baked, baked.Current.Asset("/f.bin").Strategy);
        Assert.Equal(onFile.Current.Asset("/f.bin").Tag().TrimStart('W', '/'), baked.Current.Asset("/f.bin").Tag().TrimStart('W', '/'));
    }

    [Fact]
    public void A_content_longer_than_the_buffer_is_hashed_whole()
    {
        byte[] content = new byte[900_001];
        _site.File("a.bin", content);
        content[^1] = 1;
        _site.File("b.bin", content);
        using var catalog = AssetCatalog.Open(_site.Options with { RingBytesMax = 1_000_000 });
        using var baked = AssetCatalog.Open(_site.Options with { BakedBytesMax = 1_000_000 });

        Assert.NotEqual(catalog.Current.Asset("/a.bin").Tag(), catalog.Current.Asset("/b.bin").Tag());
        Assert.Equal(baked.Current.Asset("/b.bin").Tag(), catalog.Current.Asset("/b.bin").Tag());
    }

    [Fact]
    public async Task A_large_file_is_known_by_size_and_time()
    {
        string full = _site.File("f.bin", new byte[300_000]);
        File.SetLastWriteTimeUtc(full, Old);
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        string first = catalog.Current.Asset("/f.bin").Tag();

        File.SetLastWriteTimeUtc(full, Old.AddTicks(1));
        await TempSite.SettleAsync();
        catalog.Refresh("");
        string later = catalog.Current.Asset("/f.bin").Tag();
        _site.File("f.bin", new byte[300_001]);
        File.SetLastWriteTimeUtc(full, Old);
        await TempSite.SettleAsync();
        catalog.Refresh("");

        Assert.Matches("^\"[A-Za-z0-9_-]{22}-\"$", first);
        Assert.Equal(3, new HashSet<string> { first, later, catalog.Current.Asset("/f.bin").Tag() }.Count);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_large_file_whose_time_is_set_back_is_known_by_another_tag(bool isReplaced)
    {
        string full = _site.File("f.bin", new byte[300_000]);
        File.SetLastWriteTimeUtc(full, Old);
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        string first = catalog.Current.Asset("/f.bin").Tag();

        string soon = Soon.Seen(
            () =>
            {
                string written = _site.File(isReplaced ? "next" : "f.bin", [.. Enumerable.Repeat((byte)1, 300_000)]);
                File.SetLastWriteTimeUtc(written, Old);
                File.Move(written, full, overwrite: true);
                catalog.Refresh("");
                return catalog.Current.Asset("/f.bin").Tag();
            },
            static tag => tag is ['W', ..]);
        await TempSite.SettleAsync();
        catalog.Refresh("");
        string settled = catalog.Current.Asset("/f.bin").Tag();
        catalog.Reload();

        Assert.Equal($"W/{settled}", soon);
        Assert.NotEqual(first, settled);
        Assert.Equal(settled, catalog.Current.Asset("/f.bin").Tag());
    }

    [Fact]
    public void A_large_file_that_was_just_written_has_a_weak_tag()
    {
        string tag = Soon.Seen(
            () =>
            {
                _site.File("f.bin", new byte[300_000]);
                using AssetCatalog catalog = _site.Open();
                return catalog.Current.Asset("/f.bin").Tag();
            },
            static tag => tag is ['W', ..]);

        Assert.StartsWith("W/\"", tag, StringComparison.Ordinal);
    }

    [Fact]
    public void Hashing_stops_at_its_budget_with_the_smallest_done()
    {
        foreach (int size in new[] { 3000, 1000, 2000 })
        {
            _site.File(size.ToString(CultureInfo.InvariantCulture), new byte[size]);
        }

        using var catalog = AssetCatalog.Open(_site.Options with { BakedBytesMax = 0, HashedBytesTotalMax = 3000 });

        Assert.Equal([1000, 2000, 0], new[] { "/1000", "/2000", "/3000" }.Select(path => catalog.Current.Asset(path).HashedBytes));
        Assert.Equal(3000, catalog.Current.Content.Totals.HashedBytes);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(-5)]
    public async Task A_time_that_reproducible_builds_set_says_nothing(long seconds)
    {
        DateTime time = DateTime.UnixEpoch.AddSeconds(seconds);
        File.SetLastWriteTimeUtc(_site.File("small.txt", "x"), time);
        File.SetLastWriteTimeUtc(_site.File("large.bin", new byte[300_000]), time);
        using AssetCatalog catalog = await _site.OpenSettledAsync();

        Assert.Equal(Validators.NoDate, catalog.Current.Asset("/small.txt").LastModified);
        Assert.NotEmpty(catalog.Current.Asset("/small.txt").Tag());
        Assert.Equal(Validators.NoDate, catalog.Current.Asset("/large.bin").LastModified);
        Assert.Empty(catalog.Current.Asset("/large.bin").Tag());
        Assert.False(catalog.Current.Asset("/small.txt").IsDateStrong);
    }

    [Fact]
    public async Task A_time_to_come_is_no_date_and_settles_nevertheless()
    {
        File.SetLastWriteTimeUtc(_site.File("f.bin", new byte[300_000]), DateTime.UtcNow.AddYears(1));
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Asset asset = catalog.Current.Asset("/f.bin");

        Assert.Equal(Validators.NoDate, asset.LastModified);
        Assert.False(asset.IsDateStrong);
        Assert.True(asset.IsSettled);
        Assert.Matches("^\"[A-Za-z0-9_-]{22}-\"$", asset.Tag());
    }

    [Fact]
    public void A_date_is_whole_seconds_and_strong_two_seconds_later()
    {
        File.SetLastWriteTimeUtc(_site.File("old.txt", "x"), Old.AddMilliseconds(999));
        using AssetCatalog catalog = Soon.Seen(
            () =>
            {
                _site.File("new.txt", "x");
                return _site.Open();
            },
            static opened => !opened.Current.Asset("/new.txt").IsDateStrong);

        Assert.Equal((long)(Old - DateTime.UnixEpoch).TotalSeconds, catalog.Current.Asset("/old.txt").LastModified);
        Assert.True(catalog.Current.Asset("/old.txt").IsDateStrong);
        Assert.True(catalog.Current.Asset("/new.txt").LastModified > 1_700_000_000);
    }

    [Fact]
    public void Each_coding_of_a_tag_is_another_tag()
    {
        var content = EntityTag.OfContent(UInt128.MaxValue);
        var state = EntityTag.OfState(default, isWeak: true);
        string[] tags =
        [
            .. new[] { content, state }.SelectMany(tag => new[]
            {
                tag, tag.For(ContentCoding.Gzip), tag.For(ContentCoding.Brotli), tag.For(ContentCoding.Zstd),
            }).Select(tag => System.Text.Encoding.ASCII.GetString(tag.Bytes)),
        ];

        Assert.Equal("\"_____________________w\"", tags[0]);
        Assert.Equal("\"_____________________wg\"", tags[1]);
        Assert.Equal("W/\"AAAAAAAAAAAAAAAAAAAAAA-\"", tags[4]);
        Assert.Equal("W/\"AAAAAAAAAAAAAAAAAAAAAA-z\"", tags[7]);
        Assert.Equal(8, tags.Distinct().Count());
        Assert.True(default(EntityTag).For(ContentCoding.Gzip).IsEmpty);
    }
}
