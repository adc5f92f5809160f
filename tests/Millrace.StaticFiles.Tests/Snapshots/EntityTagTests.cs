using System.Globalization;
using Millrace.Http;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

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
        using var inMemory = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 200_000 });
        using var inParts = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 0, ReadBytesMax = 1_000_000 });

        foreach (string path in new[] { "/f.bin", "/empty" })
        {
            Assert.Equal(inMemory.Current.Asset(path).Tag(), onFile.Current.Asset(path).Tag());
            Assert.Equal(inMemory.Current.Asset(path).Tag(), inParts.Current.Asset(path).Tag());
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

        SiteOptions Of(TempSite site) => site.Options with { CacheFileBytesMax = 1_000_000, ReadBytesMax = 200_000 };
        using var plenty = AssetCatalog.Open(Of(replica) with { CacheBytesMax = 10_000_000 });
        using var catalog = AssetCatalog.Open(Of(_site) with { CacheBytesMax = memory });

        Assert.Equal(memory >= 500_000, catalog.Current.Asset("/a.bin").Strategy == BodyStrategy.InMemory);
        Assert.Equal(memory >= 1_000_000, catalog.Current.Asset("/b.bin").Strategy == BodyStrategy.InMemory);
        foreach (string path in (string[])["/a.bin", "/b.bin"])
        {
            Assert.Equal(plenty.Current.Asset(path).Tag(), catalog.Current.Asset(path).Tag());
        }
    }

    [Fact]
    public void What_is_in_memory_beyond_the_budget_of_hashing_is_known_by_its_time()
    {
        File.SetLastWriteTimeUtc(_site.File("f.bin", new byte[5_000]), Old);
        using var inMemory = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 10_000, HashedBytesTotalMax = 3_000 });
        using var onFile = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 10_000, HashedBytesTotalMax = 3_000, CacheBytesMax = 0 });

        Assert.Equal(BodyStrategy.InMemory, inMemory.Current.Asset("/f.bin").Strategy);
        Assert.Equal(onFile.Current.Asset("/f.bin").Tag().TrimStart('W', '/'), inMemory.Current.Asset("/f.bin").Tag().TrimStart('W', '/'));
    }

    [Fact]
    public void A_content_longer_than_the_buffer_is_hashed_whole()
    {
        byte[] content = new byte[900_001];
        _site.File("a.bin", content);
        content[^1] = 1;
        _site.File("b.bin", content);
        using var catalog = AssetCatalog.Open(_site.Options with { ReadBytesMax = 1_000_000 });
        using var inMemory = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 1_000_000 });

        Assert.NotEqual(catalog.Current.Asset("/a.bin").Tag(), catalog.Current.Asset("/b.bin").Tag());
        Assert.Equal(inMemory.Current.Asset("/b.bin").Tag(), catalog.Current.Asset("/b.bin").Tag());
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

        string soon = RecentWrite.Check(
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
        string tag = RecentWrite.Check(
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

        using var catalog = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 0, HashedBytesTotalMax = 3000 });

        Assert.Equal([1000, 2000, 0], new[] { "/1000", "/2000", "/3000" }.Select(path => catalog.Current.Asset(path).HashedBytes));
        Assert.Equal(3000, catalog.Current.Totals.HashedBytes);
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
        Assert.False(catalog.Current.Asset("/small.txt").IsDateStrongAt(long.MaxValue / 2));
    }

    [Fact]
    public async Task A_time_to_come_is_no_date_and_settles_nevertheless()
    {
        File.SetLastWriteTimeUtc(_site.File("f.bin", new byte[300_000]), DateTime.UtcNow.AddYears(1));
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Asset asset = catalog.Current.Asset("/f.bin");

        Assert.Equal(Validators.NoDate, asset.LastModified);
        Assert.False(asset.IsDateStrongAt(long.MaxValue / 2));
        Assert.True(asset.IsSettled);
        Assert.Matches("^\"[A-Za-z0-9_-]{22}-\"$", asset.Tag());
    }

    [Fact]
    public void A_date_is_whole_seconds_and_strong_two_seconds_later()
    {
        File.SetLastWriteTimeUtc(_site.File("old.txt", "x"), Old.AddMilliseconds(999));
        _site.File("new.txt", "x");
        using AssetCatalog catalog = _site.Open();
        Asset old = catalog.Current.Asset("/old.txt");
        Asset recent = catalog.Current.Asset("/new.txt");

        Assert.Equal((long)(Old - DateTime.UnixEpoch).TotalSeconds, old.LastModified);
        Assert.True(old.IsDateStrongAt(old.ModifiedAtNs + 2_000_000_000));
        Assert.False(old.IsDateStrongAt(old.ModifiedAtNs + 1_999_999_999));
        Assert.True(recent.LastModified > 1_700_000_000);
        Assert.False(recent.IsDateStrongAt(recent.ModifiedAtNs + 1_000_000_000));
        Assert.True(recent.IsDateStrongAt(recent.ModifiedAtNs + 2_000_000_000));
    }

    // RFC 9110 section 8.8.2.2: a date that two contents had says nothing of which of them a client has a part of.
    [Theory]
    [InlineData(10)]
    [InlineData(300_000)]
    public void A_date_that_another_content_had_is_never_strong(int bytes)
    {
        Write(bytes, 1, Old.AddMilliseconds(100));
        using AssetCatalog catalog = _site.Open();
        Assert.True(IsStrong(catalog));

        Write(bytes + 1, 2, Old.AddMilliseconds(900));
        catalog.Reload();
        Assert.False(IsStrong(catalog));

        // The next second is one of its own again.
        Write(bytes, 3, Old.AddSeconds(1));
        catalog.Reload();
        Assert.True(IsStrong(catalog));
    }

    [Theory]
    [InlineData(10)]
    [InlineData(300_000)]
    public void A_date_that_was_set_back_is_not_strong_nor_are_those_behind_it(int bytes)
    {
        Write(bytes, 1, Old.AddSeconds(5));
        using AssetCatalog catalog = _site.Open();
        Write(bytes, 2, Old);
        catalog.Reload();
        Assert.False(IsStrong(catalog));

        Write(bytes, 3, Old.AddSeconds(5));
        catalog.Reload();
        Assert.False(IsStrong(catalog));
    }

    [Fact]
    public void A_file_that_was_only_touched_by_its_rights_keeps_a_strong_date()
    {
        Write(10, 1, Old);
        using AssetCatalog catalog = _site.Open();
        Assert.Equal(0, TestCalls.ChangeMode(_site.PathOf("f.bin"), 0x104));
        catalog.Reload();
        Assert.True(IsStrong(catalog));
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

    private static bool IsStrong(AssetCatalog catalog)
    {
        Asset asset = catalog.Current.Asset("/f.bin");
        return asset.IsDateStrongAt(asset.ModifiedAtNs + 2_000_000_000);
    }

    private void Write(int bytes, byte value, DateTime modified)
    {
        string path = _site.File("f.bin", Enumerable.Repeat(value, bytes).ToArray());
        File.SetLastWriteTimeUtc(path, modified);
    }
}
