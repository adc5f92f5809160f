using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Tests.Planning;

public sealed class SelectionTests : IDisposable
{
    private readonly PlannedSite _site = new();

    public SelectionTests()
    {
        _site.Files.File("app.js", new string('x', 1000));
        _site.Files.File("app.js.gz", new string('g', 300));
        _site.Files.File("app.js.br", new string('b', 200));
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
        Assert.Equal("bytes 0-9/300", named.Field("Content-Range"));
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
        _site.Files.File("404.html.gz", new string('g', 300));

        Assert.Equal(ContentCoding.Gzip, _site.Get("/nothing", "Accept-Encoding: gzip").Asset!.Coding);
        Assert.Equal(ContentCoding.Identity, _site.Get("/nothing", "Accept-Encoding: identity;q=0").Asset!.Coding);
    }

    private string TagOf(string path, ContentCoding coding)
    {
        Asset variant = _site.Asset(path).VariantFor(coding)!;
        return Encoding.ASCII.GetString(variant.EntityTag);
    }
}
