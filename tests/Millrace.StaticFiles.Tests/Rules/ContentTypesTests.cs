using System.Text;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Tests.Rules;

public class ContentTypesTests
{
    private static readonly ContentTypes Types = new(new SiteOptions { Root = "/" });

    [Theory]
    [InlineData("a.html", "text/html; charset=utf-8")]
    [InlineData("a.HTML", "text/html; charset=utf-8")]
    [InlineData("a.hTm", "text/html; charset=utf-8")]
    [InlineData("a.min.css", "text/css; charset=utf-8")]
    [InlineData("a.js", "text/javascript; charset=utf-8")]
    [InlineData("a.mjs", "text/javascript; charset=utf-8")]
    [InlineData("a.json", "application/json")]
    [InlineData("a.webmanifest", "application/manifest+json")]
    [InlineData("a.xml", "application/xml; charset=utf-8")]
    [InlineData("a.svg", "image/svg+xml; charset=utf-8")]
    [InlineData("a.txt", "text/plain; charset=utf-8")]
    [InlineData("a.png", "image/png")]
    [InlineData("a.jpeg", "image/jpeg")]
    [InlineData("a.ico", "image/x-icon")]
    [InlineData("a.woff2", "font/woff2")]
    [InlineData("a.wasm", "application/wasm")]
    [InlineData("a.mp4", "video/mp4")]
    [InlineData("a.tar.gz", "application/gzip")]
    [InlineData("a.pdf", "application/pdf")]
    [InlineData("a", "application/octet-stream")]
    [InlineData("a.", "application/octet-stream")]
    [InlineData("html", "application/octet-stream")]
    [InlineData(".html", "application/octet-stream")]
    [InlineData("", "application/octet-stream")]
    [InlineData("a.unknown", "application/octet-stream")]
    [InlineData("a.htmlhtmlhtmlhtmlhtmlhtmlhtmlhtml", "application/octet-stream")]
    [InlineData("a.html ", "application/octet-stream")]
    [InlineData("käse.html", "text/html; charset=utf-8")]
    public void The_extension_decides(string name, string type)
    {
        ContentType found = Types.Of(Encoding.UTF8.GetBytes(name));

        Assert.Equal(type, found.Value);
        Assert.Equal(Encoding.ASCII.GetBytes(type), found.Bytes.ToArray());
    }

    [Fact]
    public void One_instance_answers_for_a_type() =>
        Assert.Same(Types.Of("a.jpg"u8), Types.Of("b.JPEG"u8));

    [Fact]
    public void A_sites_own_types_come_before_and_beside_those_of_the_table()
    {
        var types = new ContentTypes(With(new() { ["HTML"] = "application/x-page", ["foo"] = "application/foo", ["bar"] = "text/bar" }));

        Assert.Equal("application/x-page", types.Of("a.html"u8).Value);
        Assert.Equal("application/foo", types.Of("a.FOO"u8).Value);
        Assert.Equal("text/bar; charset=utf-8", types.Of("a.bar"u8).Value);
        Assert.Equal("image/png", types.Of("a.png"u8).Value);
    }

    [Theory]
    [InlineData("iso-8859-1", "text/html; charset=iso-8859-1", "text/foo; charset=iso-8859-1")]
    [InlineData("", "text/html", "text/foo")]
    public void The_charset_is_the_sites(string charset, string html, string own)
    {
        var types = new ContentTypes(With(new() { ["foo"] = "text/foo", ["bar"] = "text/bar; charset=UTF-16" }) with { Charset = charset });

        Assert.Equal(html, types.Of("a.html"u8).Value);
        Assert.Equal(own, types.Of("a.foo"u8).Value);
        Assert.Equal("text/bar; charset=UTF-16", types.Of("a.bar"u8).Value);
        Assert.Equal("image/png", types.Of("a.png"u8).Value);
    }

    [Theory]
    [InlineData("html css js json map xml svg txt md csv wasm ttf otf eot ico bmp webmanifest rss atom gltf yaml m3u8", true)]
    [InlineData("png jpg gif webp avif woff woff2 mp3 mp4 webm zip gz zst br pdf unknown", false)]
    public void What_is_compressible_is_known_by_type(string extensions, bool isCompressible) =>
        Assert.All(
            extensions.Split(' '),
            extension => Assert.Equal(isCompressible, Types.Of(Encoding.ASCII.GetBytes("a." + extension)).IsCompressible));

    private static SiteOptions With(Dictionary<string, string> types) => new() { Root = "/", ContentTypes = types };
}
