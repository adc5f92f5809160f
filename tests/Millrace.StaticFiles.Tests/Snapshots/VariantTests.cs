using System.IO.Compression;
using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>Coded files beside their original.</summary>
public sealed class VariantTests : IDisposable
{
    private static readonly DateTime Time = new(2024, 5, 6, 7, 8, 9, 500, DateTimeKind.Utc);

    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Fact]
    public void Siblings_are_variants_with_the_originals_type_and_their_own_size_and_tag()
    {
        Write("app.js", "original");
        Write("app.js.gz", "gzip, longer than the original");
        Write("app.js.br", "br");
        Write("app.js.zst", "zstd");
        using AssetCatalog catalog = _site.Open();
        Asset original = catalog.Current.Asset("/app.js");

        Assert.Equal(CodingSet.Identity | CodingSet.Gzip | CodingSet.Brotli | CodingSet.Zstd, original.Codings);
        Assert.True(original.IsNegotiable);
        Assert.Same(original, original.VariantFor(ContentCoding.Identity));
        Asset gzip = original.VariantFor(ContentCoding.Gzip)!;
        Assert.Equal(30, gzip.Size);
        Assert.Equal(ContentCoding.Gzip, gzip.Coding);
        Assert.Equal(CodingSet.Gzip, gzip.Codings);
        Assert.True(gzip.IsNegotiable);
        Assert.Equal("text/javascript; charset=utf-8", gzip.ContentType.Value);
        Assert.Equal("gzip, longer than the original", catalog.Current.Body(gzip));
        Assert.Equal("br", catalog.Current.Body(original.VariantFor(ContentCoding.Brotli)!));
        Assert.Equal("zstd", catalog.Current.Body(original.VariantFor(ContentCoding.Zstd)!));
        Assert.Equal("/app.js.gz"u8, gzip.Path);
    }

    [Fact]
    public void By_its_own_name_a_coded_file_is_a_file_of_its_own()
    {
        Write("app.js", "original");
        Write("app.js.gz", "coded");
        using AssetCatalog catalog = _site.Open();
        Asset file = catalog.Current.Asset("/app.js.gz");
        Asset variant = catalog.Current.Asset("/app.js").VariantFor(ContentCoding.Gzip)!;

        Assert.Equal("application/gzip", file.ContentType.Value);
        Assert.Equal(ContentCoding.Identity, file.Coding);
        Assert.Equal(CodingSet.Identity, file.Codings);
        Assert.NotEqual(file.Tag(), variant.Tag());
        Assert.Equal(2 * 64, catalog.InMemoryBytesHeld);
    }

    [Fact]
    public void A_coded_file_without_its_original_is_just_a_file()
    {
        Write("archive.tar.gz", "x");
        Write(".gz", "x");
        Write("dir.gz", "x");
        _site.EmptyDirectory("dir");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal("application/gzip", catalog.Current.Asset("/archive.tar.gz").ContentType.Value);
        Assert.Equal(PathMatch.None, catalog.Current.Match("/archive.tar"));
        Assert.Equal(PathMatch.DirectoryWithoutSlash, catalog.Current.Match("/dir"));
    }

    [Theory]
    [InlineData(0, true)]
    [InlineData(1, true)]
    [InlineData(-1, false)]
    [InlineData(-5_000_000, true)]
    [InlineData(-15_000_000, false)]
    public void One_that_is_older_is_no_variant_but_a_time_cut_to_seconds_counts_as_its_second(long ticksLater, bool isVariant)
    {
        Write("a.css", "original");
        File.SetLastWriteTimeUtc(_site.File("a.css.br", "coded"), Time.AddTicks(ticksLater));
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(isVariant, catalog.Current.Asset("/a.css").VariantFor(ContentCoding.Brotli) is not null);
    }

    [Fact]
    public void A_sibling_outside_the_root_or_hidden_is_none()
    {
        File.WriteAllText(Path.Combine(_site.Outside, "secret.gz"), "secret");
        Write("a.css", "original");
        _site.Symlink("a.css.gz", "../secret.gz");
        _site.Fifo("a.css.br");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(CodingSet.Identity, catalog.Current.Asset("/a.css").Codings);
    }

    [Theory]
    [InlineData(100_000)]
    [InlineData(300_000)]
    public void Siblings_that_are_not_in_memory_share_their_files_descriptor_or_are_opened_on_demand(int size)
    {
        Write("big.js", "original");
        File.SetLastWriteTimeUtc(_site.File("big.js.gz", new string('z', size)), Time);
        using AssetCatalog held = _site.Open();
        using var onDemand = AssetCatalog.Open(_site.Options with { DescriptorsMax = 0 });

        Asset variant = held.Current.Asset("/big.js").VariantFor(ContentCoding.Gzip)!;
        Assert.Equal(held.Current.Asset("/big.js.gz").Descriptor, variant.Descriptor);
        Assert.Equal(1, held.DescriptorsHeld);
        Assert.Equal(new string('z', size), held.Current.Body(variant));
        Assert.Equal(new string('z', size), onDemand.Current.Body(onDemand.Current.Asset("/big.js").VariantFor(ContentCoding.Gzip)!));
    }

    [Fact]
    public async Task Siblings_that_come_change_and_go_make_the_original_another_asset()
    {
        Write("app.js", "original");
        Write("app.js.gz", "one");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        CatalogSnapshot first = catalog.Acquire();
        Asset before = first.Asset("/app.js");
        catalog.Refresh("");
        Assert.Same(before, catalog.Current.Asset("/app.js"));

        Write("app.js.gz", "two, longer");
        await TempSite.SettleAsync();
        catalog.Refresh("");
        Asset changed = catalog.Current.Asset("/app.js");
        Assert.NotSame(before, changed);
        Assert.Equal("two, longer", catalog.Current.Body(changed.VariantFor(ContentCoding.Gzip)!));
        Assert.Equal("one", first.Body(before.VariantFor(ContentCoding.Gzip)!));
        first.Release();

        Write("app.js.br", "br");
        await TempSite.SettleAsync();
        catalog.Refresh("");
        Asset more = catalog.Current.Asset("/app.js");
        Assert.NotSame(changed, more);
        Assert.Equal(CodingSet.Identity | CodingSet.Gzip | CodingSet.Brotli, more.Codings);

        File.Delete(_site.PathOf("app.js.gz"));
        File.Delete(_site.PathOf("app.js.br"));
        catalog.Refresh("");
        Assert.Equal(CodingSet.Identity, catalog.Current.Asset("/app.js").Codings);
    }

    [Fact]
    public async Task A_coded_file_that_gets_a_sibling_of_its_own_is_still_shown_by_its_original()
    {
        // A site compressed a second time over: the file in the middle becomes another asset, and the memory of the one before is freed.
        Write("app.js", "original");
        Write("app.js.gz", "gzip");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        CatalogSnapshot before = catalog.Acquire();
        Write("app.js.gz.br", "brotli of gzip");

        catalog.Refresh("");
        before.Release();
        await before.WhenFreedAsync();

        Asset middle = catalog.Current.Asset("/app.js.gz");
        Assert.Equal("brotli of gzip", catalog.Current.Body(middle.VariantFor(ContentCoding.Brotli)!));
        Asset shown = catalog.Current.Asset("/app.js").VariantFor(ContentCoding.Gzip)!;
        Assert.Equal("gzip", catalog.Current.Body(shown));
        Assert.True(middle.IsShownBy(shown));
    }

    [Fact]
    public async Task An_original_that_an_older_one_takes_the_place_of_loses_its_siblings()
    {
        Write("app.js", "newer");
        Write("app.js.gz", "of the newer");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        File.SetLastWriteTimeUtc(_site.File("app.js", "older"), Time.AddDays(-1));

        catalog.Refresh("");
        Assert.Equal(CodingSet.Identity, catalog.Current.Asset("/app.js").Codings);
        await TempSite.SettleAsync();
        catalog.Refresh("");
        catalog.Reload();
        Assert.Equal(CodingSet.Identity, catalog.Current.Asset("/app.js").Codings);

        Write("app.js.gz", "of the older");
        catalog.Refresh("");
        Asset coded = catalog.Current.Asset("/app.js").VariantFor(ContentCoding.Gzip)!;
        Assert.Equal("of the older", catalog.Current.Body(coded));
    }

    [Theory]
    [InlineData(".gz")]
    [InlineData(".br")]
    public async Task A_sibling_that_came_before_its_original_is_known_by_what_it_decodes_to(string extension)
    {
        ContentCoding coding = extension == ".gz" ? ContentCoding.Gzip : ContentCoding.Brotli;
        byte[] next = Encoding.UTF8.GetBytes(string.Concat(Enumerable.Range(0, 40_000).Select(i => $"{i} ")));
        Write("app.js", "before");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        File.SetLastWriteTimeUtc(_site.File("app.js" + extension, Coded(next, coding)), Time);
        catalog.Refresh("");
        Assert.NotNull(catalog.Current.Asset("/app.js").VariantFor(coding));
        File.SetLastWriteTimeUtc(_site.File("app.js", next), Time);

        catalog.Refresh("");

        Asset shown = catalog.Current.Asset("/app.js").VariantFor(coding)!;
        Assert.True(catalog.Current.Asset("/app.js" + extension).IsShownBy(shown));
    }

    [Theory]
    [InlineData("longer than what comes")]
    [InlineData("less")]
    [InlineData("another!")]
    public async Task One_that_decodes_to_anything_else_is_not_taken_for_its_own(string other)
    {
        Write("app.js", "before");
        _site.File("app.js.gz", Coded(Encoding.UTF8.GetBytes(other), ContentCoding.Gzip));
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Write("app.js", "the next");

        catalog.Refresh("");

        Assert.Null(catalog.Current.Asset("/app.js").VariantFor(ContentCoding.Gzip));
    }

    [Fact]
    public async Task An_original_that_is_written_again_as_it_was_keeps_its_siblings()
    {
        Write("app.js", "original");
        Write("app.js.gz", "coded");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Write("app.js", "original");

        catalog.Refresh("");

        Assert.NotNull(catalog.Current.Asset("/app.js").VariantFor(ContentCoding.Gzip));
    }

    [Fact]
    public async Task An_original_that_becomes_younger_loses_its_siblings()
    {
        Write("app.js", "original");
        Write("app.js.gz", "coded");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        _site.File("app.js", "rewritten");

        catalog.Refresh("");

        Assert.Null(catalog.Current.Asset("/app.js").VariantFor(ContentCoding.Gzip));
        Assert.Equal("coded", catalog.Current.Body("/app.js.gz"));
    }

    [Fact]
    public void What_may_get_variants_owes_vary_from_the_start()
    {
        Write("small.txt", new string('x', 255));
        Write("text.txt", new string('x', 256));
        Write("image.png", new string('x', 256));
        using AssetCatalog catalog = _site.Open();
        using var off = AssetCatalog.Open(_site.Options with { Compression = false });

        Assert.False(catalog.Current.Asset("/small.txt").IsNegotiable);
        Assert.True(catalog.Current.Asset("/text.txt").IsNegotiable);
        Assert.False(catalog.Current.Asset("/image.png").IsNegotiable);
        Assert.False(off.Current.Asset("/text.txt").IsNegotiable);
        Assert.Equal("/text.txt"u8, Assert.Single(catalog.Current.AssetsToCompress()).Path);
        Assert.Empty(off.Current.AssetsToCompress());
    }

    private static byte[] Coded(byte[] content, ContentCoding coding)
    {
        using var target = new MemoryStream();
        using (Stream coder = coding == ContentCoding.Gzip
            ? new GZipStream(target, CompressionLevel.Fastest)
            : new BrotliStream(target, CompressionLevel.Fastest))
        {
            coder.Write(content);
        }

        return target.ToArray();
    }

    private void Write(string path, string content) => File.SetLastWriteTimeUtc(_site.File(path, content), Time);
}
