using System.Text;
using Millrace.StaticFiles.Content;

namespace Millrace.StaticFiles.Tests.Content;

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
    [InlineData("a.json", "application/json; charset=utf-8")]
    [InlineData("a.webmanifest", "application/manifest+json; charset=utf-8")]
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
    public void About_a_hundred_and_forty_extensions_are_known() => Assert.InRange(Types.ExtensionCount, 100, 200);
}
