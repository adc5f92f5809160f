using System.IO.Compression;
using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Compression;
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
        byte[] coded = CodedContent.Gzip("original");
        Write("app.js", "original");
        Write("app.js.gz", coded);
        Write("app.js.br", CodedContent.Brotli("original"));
        using AssetCatalog catalog = _site.Open();
        Asset original = catalog.Current.Asset("/app.js");

        Assert.Equal(CodingSet.Identity | CodingSet.Gzip | CodingSet.Brotli, original.Codings);
        Assert.True(original.IsNegotiable);
        Assert.Same(original, original.VariantFor(ContentCoding.Identity));
        Asset gzip = original.VariantFor(ContentCoding.Gzip)!;
        Assert.Equal(coded.Length, gzip.Size);
        Assert.Equal(ContentCoding.Gzip, gzip.Coding);
        Assert.Equal(CodingSet.Gzip, gzip.Codings);
        Assert.True(gzip.IsNegotiable);
        Assert.Equal("text/javascript; charset=utf-8", gzip.ContentType.Value);
        Assert.Equal(catalog.Current.Body("/app.js.gz"), catalog.Current.Body(gzip));
        Assert.Equal(catalog.Current.Body("/app.js.br"), catalog.Current.Body(original.VariantFor(ContentCoding.Brotli)!));
        Assert.Equal("/app.js.gz"u8, gzip.Path);
    }

    [Fact]
    public void By_its_own_name_a_coded_file_is_a_file_of_its_own()
    {
        Write("app.js", "original");
        Write("app.js.gz", CodedContent.Gzip("original"));
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
        File.SetLastWriteTimeUtc(_site.File("a.css.br", CodedContent.Brotli("original")), Time.AddTicks(ticksLater));
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
        byte[] noise = TestText.Noise(size);
        byte[] coded = CodedContent.Of(noise, ContentCoding.Gzip);
        File.SetLastWriteTimeUtc(_site.File("big.js", noise), Time);
        Write("big.js.gz", coded);
        using AssetCatalog held = _site.Open();
        using AssetCatalog onDemand = TempSite.Open(_site.Options with { DescriptorsMax = 0 });

        Asset variant = held.Current.Asset("/big.js").VariantFor(ContentCoding.Gzip)!;
        Assert.Equal(held.Current.Asset("/big.js.gz").Descriptor, variant.Descriptor);
        Assert.Equal(2, held.DescriptorsHeld);
        Assert.Equal(Encoding.UTF8.GetString(coded), held.Current.Body(variant));
        Assert.Equal(
            Encoding.UTF8.GetString(coded), onDemand.Current.Body(onDemand.Current.Asset("/big.js").VariantFor(ContentCoding.Gzip)!));
    }

    [Fact]
    public async Task Siblings_that_come_change_and_go_make_the_original_another_asset()
    {
        Write("app.js", "original");
        Write("app.js.gz", CodedContent.Gzip("original"));
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        CatalogSnapshot first = catalog.Acquire();
        Asset before = first.Asset("/app.js");
        string coded = first.Body("/app.js.gz");
        catalog.Refresh("");
        Assert.Same(before, catalog.Current.Asset("/app.js"));

        Write("app.js.gz", CodedContent.Of("original"u8.ToArray(), ContentCoding.Gzip, CompressionLevel.NoCompression));
        await TempSite.SettleAsync();
        catalog.Refresh("");
        Asset changed = catalog.Current.Asset("/app.js");
        Assert.NotSame(before, changed);
        Assert.Equal(CodingSet.Identity, changed.Codings);
        catalog.ProveSiblings();
        Assert.Equal(catalog.Current.Body("/app.js.gz"), catalog.Current.Body(changed.VariantFor(ContentCoding.Gzip)!));
        Assert.Equal(coded, first.Body(before.VariantFor(ContentCoding.Gzip)!));
        first.Release();

        Write("app.js.br", CodedContent.Brotli("original"));
        await TempSite.SettleAsync();
        catalog.Refresh("");
        Asset more = catalog.Current.Asset("/app.js");
        Assert.NotSame(changed, more);
        Assert.Equal(CodingSet.Identity | CodingSet.Gzip, more.Codings);
        catalog.ProveSiblings();
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
        byte[] coded = CodedContent.Gzip("original");
        Write("app.js", "original");
        Write("app.js.gz", coded);
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        CatalogSnapshot before = catalog.Acquire();
        Write("app.js.gz.br", CodedContent.Of(coded, ContentCoding.Brotli));

        catalog.Refresh("");
        before.Release();
        await before.WhenFreedAsync();

        Asset shown = catalog.Current.Asset("/app.js").VariantFor(ContentCoding.Gzip)!;
        Assert.Equal(Encoding.UTF8.GetString(coded), catalog.Current.Body(shown));
        catalog.ProveSiblings();
        Asset middle = catalog.Current.Asset("/app.js.gz");
        Assert.Equal(catalog.Current.Body("/app.js.gz.br"), catalog.Current.Body(middle.VariantFor(ContentCoding.Brotli)!));
    }

    [Fact]
    public async Task An_original_that_an_older_one_takes_the_place_of_loses_its_siblings()
    {
        Write("app.js", "newer");
        Write("app.js.gz", CodedContent.Gzip("newer"));
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        File.SetLastWriteTimeUtc(_site.File("app.js", "older"), Time.AddDays(-1));

        catalog.Refresh("");
        Assert.Equal(CodingSet.Identity, catalog.Current.Asset("/app.js").Codings);
        catalog.ProveSiblings();
        Assert.Equal(CodingSet.Identity, catalog.Current.Asset("/app.js").Codings);

        Write("app.js.gz", CodedContent.Gzip("older"));
        catalog.Refresh("");
        catalog.ProveSiblings();
        Assert.NotNull(catalog.Current.Asset("/app.js").VariantFor(ContentCoding.Gzip));
    }

    [Theory]
    [InlineData(".gz", 40_000)]
    [InlineData(".br", 40_000)]
    [InlineData(".gz", 10)]
    public async Task A_sibling_that_came_before_its_original_is_known_by_what_it_decodes_to(string extension, int numbers)
    {
        ContentCoding coding = extension == ".gz" ? ContentCoding.Gzip : ContentCoding.Brotli;
        byte[] next = Encoding.UTF8.GetBytes(string.Concat(Enumerable.Range(0, numbers).Select(i => $"{i} ")));
        Write("app.js", "before");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Write("app.js" + extension, CodedContent.Of(next, coding));
        catalog.Refresh("");
        catalog.ProveSiblings();
        Assert.Null(catalog.Current.Asset("/app.js").VariantFor(coding));
        File.SetLastWriteTimeUtc(_site.File("app.js", next), Time);

        catalog.Refresh("");
        catalog.ProveSiblings();

        Assert.NotNull(catalog.Current.Asset("/app.js").VariantFor(coding));
    }

    [Fact]
    public async Task An_original_that_is_written_again_as_it_was_keeps_its_siblings()
    {
        Write("app.js", "original");
        Write("app.js.gz", CodedContent.Gzip("original"));
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Write("app.js", "original");

        catalog.Refresh("");

        Assert.NotNull(catalog.Current.Asset("/app.js").VariantFor(ContentCoding.Gzip));
    }

    [Fact]
    public async Task An_original_that_becomes_younger_loses_its_siblings()
    {
        Write("app.js", "original");
        Write("app.js.gz", CodedContent.Gzip("original"));
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        _site.File("app.js", "rewritten");

        catalog.Refresh("");

        catalog.ProveSiblings();

        Assert.Null(catalog.Current.Asset("/app.js").VariantFor(ContentCoding.Gzip));
        Assert.Equal(PathMatch.Asset, catalog.Current.Match("/app.js.gz"));
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

    private void Write(string path, string content) => Write(path, Encoding.UTF8.GetBytes(content));

    private void Write(string path, byte[] content) => File.SetLastWriteTimeUtc(_site.File(path, content), Time);
}
