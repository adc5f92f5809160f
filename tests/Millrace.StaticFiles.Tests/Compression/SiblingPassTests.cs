using Millrace.Http;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Tests.Watching;

namespace Millrace.StaticFiles.Tests.Compression;

public sealed class SiblingPassTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();
    private readonly TimedClock _clock = new();
    private readonly List<string> _refused = [];

    public void Dispose() => _site.Dispose();

    [Fact]
    public void Until_it_is_proven_the_uncoded_file_is_sent_and_no_variant_is_made_in_its_place()
    {
        byte[] content = TestText.Of(1000);
        _site.File("a.js", content);
        _site.File("a.js.gz", CodedContent.Of(content, ContentCoding.Gzip));
        using var catalog = AssetCatalog.Open(_site.Options);
        Asset asset = catalog.Current.Asset("/a.js");

        Assert.True(asset.IsNegotiable);
        Assert.Equal(CodingSet.Identity, asset.Codings);
        Assert.False(asset.WantsInterim);
        Assert.Empty(catalog.Current.AssetsToCompress());

        Run(Pass(catalog));

        Assert.Equal(CodingSet.Identity | CodingSet.Gzip, asset.Codings);
        Assert.Same(asset, Assert.Single(catalog.Current.AssetsToCompress()));
    }

    [Fact]
    public void What_is_refused_is_compressed_as_if_it_were_not_there()
    {
        byte[] content = TestText.Of(1000);
        _site.File("a.js", content);
        _site.File("a.js.gz", CodedContent.Of(content, ContentCoding.Gzip)[..^1]);
        using var catalog = AssetCatalog.Open(_site.Options);
        Run(Pass(catalog));

        new CompressionPass(catalog, 100_000, static error => Assert.Fail($"{error}"), BodyCoder.TryCode, _clock).Run(CancellationToken.None);

        Assert.Equal(AssetOrigin.Background, catalog.Current.Asset("/a.js").VariantFor(ContentCoding.Gzip)!.Origin);
    }

    [Fact]
    public async Task Neither_is_decoded_again_while_both_stay_the_same()
    {
        _site.File("a.js", "original");
        _site.File("a.js.gz", CodedContent.Gzip("original"));
        _site.File("a.js.br", "broken");
        using AssetCatalog catalog = await _site.OpenSettledAsync();
        Asset before = catalog.Current.Asset("/a.js");
        _site.File("a.js.zst", "");

        catalog.Refresh("");

        Asset after = catalog.Current.Asset("/a.js");
        Assert.NotSame(before, after);
        Assert.Equal([before.Siblings[0].Verdict, SiblingVerdict.Proven], after.Siblings.Select(static one => one.Verdict).Take(2));
        Assert.Equal(SiblingVerdict.Undecided, after.Siblings[2].Verdict);
        Assert.NotEqual(SiblingVerdict.Undecided, before.Siblings[0].Verdict);
        Assert.Equal(CodingSet.Identity | CodingSet.Gzip, after.Codings);
    }

    [Fact]
    public void A_bad_one_is_reported_once_when_it_has_stayed_for_a_while()
    {
        _site.File("a.js", "original");
        _site.File("a.js.gz", CodedContent.Gzip("other"));
        using var catalog = AssetCatalog.Open(_site.Options);
        SiblingPass pass = Pass(catalog);

        Run(pass);
        Assert.Empty(_refused);
        Assert.Equal(SiblingPass.ReportAfter, pass.NextDue);

        // A writer that goes on.
        _clock.Advance(TimeSpan.FromSeconds(1));
        _site.File("a.js.gz", CodedContent.Gzip("another"));
        catalog.Refresh("");
        Run(pass);
        _clock.Advance(TimeSpan.FromSeconds(1));
        Run(pass);
        Assert.Empty(_refused);

        _clock.Advance(TimeSpan.FromSeconds(1));
        Run(pass);
        Assert.Equal(["/a.js.gz OtherContent"], _refused);

        // Other bad content under the same name is no news.
        _site.File("a.js.gz", "");
        catalog.Refresh("");
        Advance(pass);
        Assert.Single(_refused);

        // But it is after a good one.
        _site.File("a.js.gz", CodedContent.Gzip("original"));
        catalog.Refresh("");
        Advance(pass);
        _site.File("a.js.gz", CodedContent.Gzip("original")[..^3]);
        catalog.Refresh("");
        Advance(pass);
        Assert.Equal(["/a.js.gz OtherContent", "/a.js.gz Incomplete"], _refused);
    }

    [Fact]
    public void The_log_names_the_first_of_them_and_counts_the_others()
    {
        for (int i = 0; i < 12; i++)
        {
            _site.File($"{i:00}.js", "original");
            _site.File($"{i:00}.js.br", "");
        }

        var log = new RecordingLog();
        using var site = Site.Open(_site.Options with { WorksInBackground = false, Watch = WatchMode.Off }, log);
        site.CheckSiblings();

        Assert.Equal(10, log.Lines(428).Count());
        Assert.StartsWith($"/00.js.br of {_site.Root} is empty, so it is not sent for /00.js.", log.Lines(428).First(), StringComparison.Ordinal);
        Assert.StartsWith("2 more compressed files", Assert.Single(log.Lines(429)), StringComparison.Ordinal);
    }

    private static void Run(SiblingPass pass)
    {
        pass.RunSmall(CancellationToken.None);
        pass.RunLarge(CancellationToken.None);
    }

    private void Advance(SiblingPass pass)
    {
        for (int i = 0; i < 10; i++)
        {
            Run(pass);
            _clock.Advance(TimeSpan.FromSeconds(1));
        }
    }

    private SiblingPass Pass(AssetCatalog catalog) => new(
        catalog,
        _clock,
        siblings => _refused.AddRange(siblings.Select(static one => $"{one.File.SitePath.ToText()} {one.Verdict}")),
        static error => Assert.Fail($"{error}"));
}
