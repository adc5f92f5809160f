using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Planning;

public sealed class SelectionTests : IDisposable
{
    private readonly PlannedSite _site = new();
    private readonly byte[] _gzip = CodedContent.Gzip(new string('x', 1000));

    public SelectionTests()
    {
        _site.Files.File("app.js", new string('x', 1000));
        _site.Files.File("app.js.gz", _gzip);
        _site.Files.File("app.js.br", CodedContent.Brotli(new string('x', 1000)));
        _site.Files.File("plain.txt", "0123456789");
    }

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData("", nameof(ContentCoding.Identity))]
    [InlineData("gzip", nameof(ContentCoding.Gzip))]
    [InlineData("gzip, br", nameof(ContentCoding.Brotli))]
    [InlineData("gzip, br;q=0.5", nameof(ContentCoding.Gzip))]
    [InlineData("br;q=0, *", nameof(ContentCoding.Gzip))]
    [InlineData("zstd", nameof(ContentCoding.Identity))]
    [InlineData("identity, gzip;q=0.1", nameof(ContentCoding.Identity))]
    public void The_variant_the_client_likes_best_is_sent(string acceptEncoding, string coding)
    {
        Planned plan = _site.Get("/app.js", $"Accept-Encoding: {acceptEncoding}");

        Assert.Equal(coding, plan.Asset!.Coding.ToString());
        Assert.Equal(_site.Asset("/app.js").ContentType, plan.Asset.ContentType);
    }

    [Theory]
    [InlineData("gzip, br, zstd", nameof(ContentCoding.Zstd))]
    [InlineData("*", nameof(ContentCoding.Zstd))]
    [InlineData("gzip, br", nameof(ContentCoding.Gzip))]
    [InlineData("gzip, br;q=0.5, zstd;q=0.9", nameof(ContentCoding.Gzip))]
    [InlineData("gzip;q=0.5, br, zstd;q=0.5", nameof(ContentCoding.Brotli))]
    public void The_smallest_is_sent_to_a_client_that_is_indifferent(string acceptEncoding, string coding)
    {
        byte[] content = new byte[1000];
        byte[] gzip = CodedContent.Of(content, ContentCoding.Gzip);
        gzip[3] = 8;
        _site.Files.File("sizes.js", content);
        _site.Files.File("sizes.js.br", CodedContent.LongBrotli(content));
        _site.Files.File("sizes.js.gz", [.. gzip[..10], .. "a name of some length, as of the file\0"u8, .. gzip[10..]]);
        _site.Files.File("sizes.js.zst", CodedContent.Zstd(content));
        _site.Catalog.Reload();
        _site.Catalog.ProveSiblings();

        Assert.Equal(coding, _site.Get("/sizes.js", $"Accept-Encoding: {acceptEncoding}").Asset!.Coding.ToString());
    }

    [Theory]
    [InlineData("/app.js", "identity;q=0, zstd")]
    [InlineData("/plain.txt", "identity;q=0")]
    [InlineData("/plain.txt", "*;q=0")]
    public void What_the_client_rules_out_altogether_is_406_for_it_alone(string target, string acceptEncoding)
    {
        Planned plan = _site.Get(target, $"Accept-Encoding: {acceptEncoding}");

        Assert.Equal((PlanStatus.NotAcceptable, "Accept, Accept-Encoding"), (plan.Status, plan.Field("Vary")));
    }

    [Fact]
    public void A_compressed_file_asked_for_by_its_name_has_no_coding()
    {
        Planned plan = _site.Get("/app.js.gz", "Accept-Encoding: br, gzip");

        Assert.Equal((PlanStatus.Ok, ContentCoding.Identity), (plan.Status, plan.Asset!.Coding));
    }

    [Fact]
    public void An_svgz_is_an_svg_in_gzip_unless_it_is_none()
    {
        _site.Files.File("a.svgz", CodedContent.Gzip("<svg/>"));
        _site.Files.File("plain.svgz", "<svg/>");
        _site.Files.File("empty.svgz", "");

        foreach (string accepted in (string[])["", "br, gzip", "identity", "gzip;q=0"])
        {
            Planned coded = _site.Get("/a.svgz", $"Accept-Encoding: {accepted}");
            Assert.Equal((PlanStatus.Ok, ContentCoding.Gzip), (coded.Status, coded.Asset!.Coding));
            Assert.Equal("image/svg+xml", coded.Asset.ContentType.Value);
            Assert.False(coded.Asset.IsNegotiable);
        }

        Assert.Equal(ContentCoding.Identity, _site.Get("/plain.svgz", "Accept-Encoding: gzip").Asset!.Coding);
        Assert.Equal(ContentCoding.Identity, _site.Get("/empty.svgz", "Accept-Encoding: gzip").Asset!.Coding);
    }

    [Theory]
    [InlineData("/game.data.gz", nameof(ContentCoding.Gzip), "application/octet-stream")]
    [InlineData("/app.js.gz", nameof(ContentCoding.Gzip), "text/javascript; charset=utf-8")]
    [InlineData("/app.js.br", nameof(ContentCoding.Brotli), "text/javascript; charset=utf-8")]
    [InlineData("/app.js.zst", nameof(ContentCoding.Zstd), "text/javascript; charset=utf-8")]
    [InlineData("/app.js", nameof(ContentCoding.Gzip), "text/javascript; charset=utf-8")]
    [InlineData("/release.tar.gz", nameof(ContentCoding.Identity), "application/gzip")]
    [InlineData("/README.gz", nameof(ContentCoding.Identity), "application/gzip")]
    [InlineData("/not.js.gz", nameof(ContentCoding.Identity), "application/gzip")]
    [InlineData("/not.js.br", nameof(ContentCoding.Identity), "application/octet-stream")]
    [InlineData("/not.js.zst", nameof(ContentCoding.Identity), "application/zstd")]
    public void With_the_option_a_file_has_the_coding_of_its_name(string target, string coding, string type)
    {
        _site.Options = _site.Options with { CodedByName = true };
        foreach (string name in (string[])["game.data.gz", "release.tar.gz", "README.gz"])
        {
            _site.Files.File(name, _gzip);
        }

        _site.Files.File("app.js.zst", CodedContent.Zstd(new byte[1000]));
        _site.Files.File("not.js.gz", "let");
        _site.Files.File("not.js.br", "let me be plain text of a script, of some length, with words in it");
        _site.Files.File("not.js.zst", "let");
        _site.Files.File("app.js.gz.br", "coded twice");

        Planned plan = _site.Get(target, "Accept-Encoding: gzip");
        Planned part = _site.Get(target, "Accept-Encoding: gzip", "Range: bytes=0-1");

        Assert.Equal((PlanStatus.Ok, coding, type), (plan.Status, $"{plan.Asset!.Coding}", plan.Asset.ContentType.Value));
        Assert.Equal(PlanStatus.PartialContent, part.Status);
    }

    [Fact]
    public void Conditions_are_about_the_variant_that_would_be_sent()
    {
        string gzipTag = TagOf("/app.js", ContentCoding.Gzip);

        Assert.Equal(PlanStatus.NotModified, _site.Get("/app.js", "Accept-Encoding: gzip", $"If-None-Match: {gzipTag}").Status);
        Assert.Equal(PlanStatus.Ok, _site.Get("/app.js", $"If-None-Match: {gzipTag}").Status);
        Assert.Equal(PlanStatus.PreconditionFailed, _site.Get("/app.js", $"If-Match: {gzipTag}").Status);
        Assert.Equal(PlanStatus.Ok, _site.Get("/app.js", "Accept-Encoding: gzip", $"If-Match: {gzipTag}").Status);
    }

    [Fact]
    public void A_part_is_of_the_plain_bytes_unless_if_range_names_a_variant()
    {
        string gzipTag = TagOf("/app.js", ContentCoding.Gzip);

        Planned unconditional = _site.Get("/app.js", "Accept-Encoding: gzip, br", "Range: bytes=0-9");
        Planned named = _site.Get("/app.js", "Accept-Encoding: gzip, br", "Range: bytes=0-9", $"If-Range: {gzipTag}");
        Planned notAccepted = _site.Get("/app.js", "Accept-Encoding: br", "Range: bytes=0-9", $"If-Range: {gzipTag}");
        Planned onlyCoded = _site.Get("/app.js", "Accept-Encoding: gzip, identity;q=0", "Range: bytes=0-9");

        Assert.Equal((PlanStatus.PartialContent, ContentCoding.Identity), (unconditional.Status, unconditional.Asset!.Coding));
        Assert.Equal("bytes 0-9/1000", unconditional.Field("Content-Range"));
        Assert.Equal((PlanStatus.PartialContent, ContentCoding.Gzip), (named.Status, named.Asset!.Coding));
        Assert.Equal($"bytes 0-9/{_gzip.Length}", named.Field("Content-Range"));
        Assert.Equal(PlanStatus.Ok, notAccepted.Status);
        Assert.Equal((PlanStatus.PartialContent, ContentCoding.Gzip), (onlyCoded.Status, onlyCoded.Asset!.Coding));
    }

    [Fact]
    public void Range_does_not_change_what_a_condition_says()
    {
        string gzipTag = TagOf("/app.js", ContentCoding.Gzip);
        string plainTag = TagOf("/app.js", ContentCoding.Identity);
        Planned Ask(string coding, string condition) => _site.Get("/app.js", $"Accept-Encoding: {coding}", "Range: bytes=0-9", condition);

        Assert.Equal(PlanStatus.NotModified, Ask("gzip", $"If-None-Match: {gzipTag}").Status);
        Assert.Equal(PlanStatus.NotModified, Ask("gzip", $"If-None-Match: {plainTag}").Status);
        Assert.Equal((PlanStatus.PartialContent, ContentCoding.Identity), CodingOf(Ask("gzip", "If-None-Match: \"other\"")));
        Assert.Equal((PlanStatus.PartialContent, ContentCoding.Gzip), CodingOf(Ask("gzip", $"If-Match: \"other\", {gzipTag}")));
        Assert.Equal((PlanStatus.PartialContent, ContentCoding.Identity), CodingOf(Ask("gzip", $"If-Match: {plainTag}")));
        Assert.Equal((PlanStatus.PartialContent, ContentCoding.Identity), CodingOf(Ask("gzip", "If-Match: *")));
        Assert.Equal(PlanStatus.PreconditionFailed, Ask("br", $"If-Match: {gzipTag}").Status);
        Assert.Equal(PlanStatus.PreconditionFailed, Ask("gzip", "If-Match: \"other\"").Status);
    }

    private static (int Status, ContentCoding Coding) CodingOf(Planned plan) => (plan.Status, plan.Asset!.Coding);

    [Fact]
    public void Ranges_are_for_get_only()
    {
        Planned head = _site.Plan(Method.Head, "/plain.txt", "Range: bytes=0-1");

        Assert.Equal((PlanStatus.Ok, null), (head.Status, head.Field("Content-Range")));
    }

    [Fact]
    public void One_range_has_a_content_range_and_several_have_none()
    {
        _site.Files.File("wide.txt", new byte[1000]);
        Planned one = _site.Get("/plain.txt", "Range: bytes=2-4");
        Planned several = _site.Get("/wide.txt", "Range: bytes=0-0,-1");
        Planned beyond = _site.Get("/plain.txt", "Range: bytes=10-");

        Assert.Equal((PlanStatus.PartialContent, "bytes 2-4/10"), (one.Status, one.Field("Content-Range")));
        Assert.Equal([new ByteRange(2, 4)], one.Ranges);
        Assert.Equal((PlanStatus.PartialContent, null), (several.Status, several.Field("Content-Range")));
        Assert.Equal([new ByteRange(0, 0), new ByteRange(999, 999)], several.Ranges);
        Assert.Equal((PlanStatus.RangeNotSatisfiable, "bytes */10"), (beyond.Status, beyond.Field("Content-Range")));
        Assert.Equal(PlanBody.StatusText, beyond.Body);
    }

    [Fact]
    public void A_condition_that_fails_goes_before_ranges_and_if_range_that_fails_sends_all()
    {
        Assert.Equal(PlanStatus.NotModified, _site.Get("/plain.txt", "Range: bytes=0-0", "If-None-Match: *").Status);
        Assert.Equal(PlanStatus.PreconditionFailed, _site.Get("/plain.txt", "Range: bytes=99-", "If-Match: \"x\"").Status);
        Assert.Equal(PlanStatus.Ok, _site.Get("/plain.txt", "Range: bytes=99-", "If-Range: \"x\"").Status);
    }

    [Fact]
    public void A_page_of_an_error_is_sent_in_a_coding_the_client_takes()
    {
        _site.Files.File("404.html", new string('x', 1000));
        _site.Files.File("404.html.gz", CodedContent.Gzip(new string('x', 1000)));

        Assert.Equal(ContentCoding.Gzip, _site.Get("/nothing", "Accept-Encoding: gzip").Asset!.Coding);
        Assert.Equal(ContentCoding.Identity, _site.Get("/nothing", "Accept-Encoding: identity;q=0").Asset!.Coding);
    }

    private string TagOf(string path, ContentCoding coding)
    {
        Asset variant = _site.Asset(path).VariantFor(coding)!;
        return Encoding.ASCII.GetString(variant.EntityTag);
    }
}
