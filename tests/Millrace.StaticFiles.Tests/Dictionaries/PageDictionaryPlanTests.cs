using System.Text;
using Millrace.Http;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Tests.Compression;
using Millrace.StaticFiles.Tests.Planning;

namespace Millrace.StaticFiles.Tests.Dictionaries;

/// <summary>Requests for the dictionary of pages: planned as files with a content hash are.</summary>
public sealed class PageDictionaryPlanTests : IDisposable
{
    private const string Here = "https://here.example";

    private readonly PlannedSite _site = new() { IsHttps = true };

    public void Dispose() => _site.Dispose();

    [Fact]
    public void It_is_sent_in_the_coding_that_the_client_accepts_or_not_at_all()
    {
        string path = Open();
        Planned plain = _site.Get(path);
        Assert.Equal((200, ContentCoding.Identity), (plain.Status, plain.Document!.Coding));
        Assert.Equal("Accept-Encoding", plain.Field("Vary"));
        Assert.Equal("public, max-age=31536000, immutable", plain.Fields.CacheControl!.Value);
        Assert.StartsWith("match=\"/*\", match-dest=(\"document\"", plain.Field("Use-As-Dictionary"), StringComparison.Ordinal);
        Assert.Equal(ContentCoding.Brotli, _site.Get(path, "Accept-Encoding: br").Document!.Coding);
        Assert.Equal(ContentCoding.Gzip, _site.Get(path, "Accept-Encoding: gzip, identity;q=0").Document!.Coding);
        Planned refused = _site.Get(path, "Accept-Encoding: identity;q=0");
        Assert.Equal((406, null), (refused.Status, refused.Field("Use-As-Dictionary")));
        Assert.Contains("Accept-Encoding", refused.Field("Vary"), StringComparison.Ordinal);
        Assert.Equal(406, _site.Get(path, "Accept-Encoding: zstd, *;q=0").Status);
    }

    [Fact]
    public void Conditions_are_about_what_would_be_sent()
    {
        string path = Open();
        string tag = Encoding.ASCII.GetString(_site.Get(path).Document!.EntityTag);
        string coded = Encoding.ASCII.GetString(_site.Get(path, "Accept-Encoding: br").Document!.EntityTag);
        Assert.NotEqual(tag, coded);
        Assert.Equal(200, _site.Get(path, $"If-Match: {tag}").Status);
        Assert.Equal(200, _site.Get(path, "If-Match: *").Status);
        Planned failed = _site.Get(path, "If-Match: \"other\"");
        Assert.Equal((412, null), (failed.Status, failed.Field("Use-As-Dictionary")));
        Assert.Equal(412, _site.Get(path, $"If-Match: {coded}").Status);
        Assert.Equal(412, _site.Get(path, $"If-Match: {tag}", "Accept-Encoding: br").Status);
        Planned known = _site.Get(path, $"If-None-Match: {coded}", "Accept-Encoding: br");
        Assert.Equal((304, null, "Accept-Encoding"), (known.Status, known.Field("Use-As-Dictionary"), known.Field("Vary")));
    }

    [Fact]
    public void Rules_about_fields_apply_and_other_origins_have_it_as_they_have_files()
    {
        _site.Options = _site.Options with
        {
            Cors = new CorsOptions { Origins = [Here, "https://there.example"] },
            Fields = [new FieldRule("*", "X-Frame-Options", "DENY")],
        };
        string path = Open();
        Planned allowed = _site.Get(path, $"Origin: {Here}", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors");
        Assert.Equal(Here, allowed.Field("Access-Control-Allow-Origin"));
        Assert.Equal("Origin", allowed.Fields.Find("Vary")?.Value);
        Assert.Equal("DENY", allowed.Fields.Find("X-Frame-Options")?.Value);
        Assert.NotNull(allowed.Field("Use-As-Dictionary"));

        // A page of another origin cannot read it, and does not get the field by which it becomes a dictionary.
        foreach (string[] fields in (string[][])[
            ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
            ["Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors", "Origin: https://other.example"]])
        {
            Planned other = _site.Get(path, fields);
            Assert.Equal((200, null), (other.Status, other.Field("Use-As-Dictionary")));
        }
    }

    [Theory]
    [InlineData("/*\n  Cache-Control: public, max-age=0, must-revalidate\n  X-Robots-Tag: noindex")]
    [InlineData("/*\n  Cache-Control: no-store\n  X-Robots-Tag: noindex")]
    [InlineData("/*\n  X-Robots-Tag: noindex\n  ! Cache-Control")]
    public void A_rule_about_the_caching_of_pages_is_not_about_it(string rules)
    {
        _site.Files.File("_headers", rules);
        _site.Options = _site.Options with { CacheControl = [new CacheRule("*", "no-cache")] };
        Planned planned = _site.Get(Open());

        Assert.Equal("public, max-age=31536000, immutable", planned.Fields.CacheControl!.Value);
        Assert.NotNull(planned.Field("Use-As-Dictionary"));
        Assert.Equal("noindex", planned.Fields.Find("X-Robots-Tag")?.Value);
        Assert.Equal("no-cache", _site.Get("/1.html").Fields.CacheControl!.Value);
    }

    [Fact]
    public void Without_https_and_under_another_name_it_does_not_exist()
    {
        string path = Open();
        Assert.Equal(404, _site.Get(path + "0").Status);
        _site.IsHttps = false;
        Assert.Equal(404, _site.Get(path).Status);
    }

    /// <summary>A site of some pages with a dictionary, whose path is returned.</summary>
    private string Open()
    {
        for (int i = 0; i < 40; i++)
        {
            _site.Files.File($"{i}.html", [.. TestText.Of(3_000), .. TestText.Of(1_000, i)]);
        }

        _site.Options = _site.Options with { Compression = true, PageDictionary = true };
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        var pages = new PageDictionaries(_site.Catalog);
        pages.Update(library, [.. Enumerable.Range(0, 40).Select(i => _site.Asset($"/{i}.html"))], CancellationToken.None);
        _site.Pages = pages;
        return Encoding.ASCII.GetString(pages.Current!.Path);
    }
}
