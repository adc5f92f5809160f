using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Tests.Options;

public class SiteOptionsTests
{
    private static readonly SiteOptions Valid = new() { Root = "/" };

    [Fact]
    public void Values_that_make_no_sense_are_refused_with_their_name()
    {
        Refused(Valid with { Root = "" }, "root");
        Refused(Valid with { Root = "a\0b" }, "root");
        Refused(Valid with { CacheFileBytesMax = -1 }, nameof(SiteOptions.CacheFileBytesMax));
        Refused(Valid with { CacheBytesMax = -1 }, nameof(SiteOptions.CacheBytesMax));
        Refused(Valid with { ReadBytesMax = -1 }, nameof(SiteOptions.ReadBytesMax));
        Refused(Valid with { DescriptorsMax = -1 }, nameof(SiteOptions.DescriptorsMax));
        Refused(Valid with { EntriesMax = -1 }, nameof(SiteOptions.EntriesMax));
        Refused(Valid with { IndexNames = [""] }, "index name");
        Refused(Valid with { IndexNames = ["index.html", "../secret"] }, "../secret");
        Refused(Valid with { IndexNames = ["a\0"] }, "index name");
        Refused(Valid with { HashedBytesTotalMax = -1 }, nameof(SiteOptions.HashedBytesTotalMax));
        Refused(Valid with { CompressedBytesTotalMax = -1 }, nameof(SiteOptions.CompressedBytesTotalMax));
        Refused(Valid with { Dotfiles = (DotfilePolicy)9 }, "9");
        Refused(Valid with { Watch = (WatchMode)9 }, "9");
        Refused(Valid with { Fallback = "index.html" }, "index.html");
        Refused(Valid with { ErrorPages = new Dictionary<int, string> { [302] = "/a" } }, "302");
        Refused(Valid with { ErrorPages = new Dictionary<int, string> { [404] = "a" } }, "'a'");
        Refused(Valid with { Charset = "a b" }, "charset");
        Refused(Valid with { ContentTypes = new Dictionary<string, string> { ["JS"] = "text/javascript" } }, "JS");
        Refused(Valid with { ContentTypes = new Dictionary<string, string> { ["js"] = "javascript" } }, "javascript");
        Refused(Valid with { ContentTypes = new Dictionary<string, string> { ["js"] = "text/" + new string('x', 600) } }, "605");
        Refused(Valid with { Charset = new string('x', 65) }, "65");
        Refused(Valid with { CacheControl = [new CacheRule("", "no-store")] }, "pattern");
        Refused(Valid with { CacheControl = [new CacheRule("*", "a\r\nb")] }, "Cache-Control");
        Refused(Valid with { CacheControl = [.. Enumerable.Repeat(new CacheRule("*", "a"), 1001)] }, "1001");
        Refused(Valid with { Fields = [new FieldRule("*", "Content-Length", "1")] }, "Content-Length");
        Refused(Valid with { Fields = [new FieldRule("/%", "X", "1")] }, "/%");
        Refused(Valid with { Fields = [.. Enumerable.Repeat(new FieldRule("*", "X", "a"), 1001)] }, "1001");
        Refused(
            Valid with { Cors = new CorsOptions(), Fields = [new FieldRule("*", "Access-Control-Allow-Origin", "*")] },
            "Access-Control-Allow-Origin");
        Refused(Valid with { Cors = new CorsOptions { Origins = [] } }, "origin");
        Refused(Valid with { Cors = new CorsOptions { Origins = ["*", "https://a.example"] } }, "*");
        Refused(Valid with { Cors = new CorsOptions { MaxAgeSeconds = -1 } }, "MaxAgeSeconds");
        Refused(Valid with { Redirects = [new RedirectRule("/a", "//evil.example")] }, "//evil.example");
        Refused(Valid with { Redirects = [new RedirectRule("/a", "/b", 500)] }, "500");
        Refused(Valid with { Redirects = [new RedirectRule("/a?b", "/b")] }, "/a?b");
        Refused(Valid with { Redirects = [.. Enumerable.Repeat(new RedirectRule("/a", "/b"), 1001)] }, "1001");
        Refused(Valid with { PasswordFile = "" }, "password file");
        Refused(Valid with { Realm = "a\nb" }, "realm");
    }

    [Fact]
    public void Defaults_are_valid() => Valid.Validate();

    private static void Refused(SiteOptions options, string named)
    {
        var thrown = Assert.Throws<SiteException>(() => AssetCatalog.Open(options));
        Assert.Contains(named, thrown.Cause, StringComparison.Ordinal);
        Assert.NotEmpty(thrown.Remedy);
    }
}
