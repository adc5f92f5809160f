using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using System.Xml.Linq;
using Millrace.Http;
using Millrace.StaticFiles.Pages;
using Millrace.StaticFiles.Planning;

namespace Millrace.StaticFiles.Tests.Pages;

/// <summary>The page of each error that the server can send.</summary>
public partial class ErrorPageTests
{
    public static TheoryData<int> Statuses => [.. Enumerable.Range(400, 200).Where(static status => ReasonOf(status) is not null)];

    [Theory]
    [MemberData(nameof(Statuses))]
    public void It_says_the_status_its_reason_and_a_sentence_and_is_well_formed(int status)
    {
        string html = TextOf(status);

        XElement page = XElement.Parse(Doctype().Replace(html, "").Replace("<meta charset=\"utf-8\">", "").Replace(
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">", "").Replace(
            "<meta name=\"color-scheme\" content=\"light dark\">", ""));
        XElement main = Assert.Single(page.Element("body")!.Elements());
        Assert.Equal("en", page.Attribute("lang")?.Value);
        Assert.Equal("main", main.Name);
        Assert.Equal(["h1", "p"], main.Elements().Select(static element => element.Name.LocalName));
        Assert.Equal(ReasonOf(status), page.Element("head")!.Element("title")!.Value);
        Assert.Equal(ReasonOf(status), main.Element("h1")!.Value);
        Assert.Matches("^[A-Z].{20,}[.]$", main.Element("p")!.Value);
    }

    [Fact]
    public void It_is_small_fetches_nothing_runs_nothing_and_is_allowed_its_style()
    {
        string html = TextOf(404);

        Assert.DoesNotMatch(Fetching(), html);
        Assert.InRange(html.Length, 500, 1_500);
        string style = Assert.Single(Style().Matches(html)).Groups[1].Value;
        Assert.Contains("prefers-color-scheme:dark", style, StringComparison.Ordinal);
        Assert.Equal(
            Encoding.ASCII.GetString(PageStyle.PolicyOf(Convert.ToBase64String(SHA256.HashData(Encoding.UTF8.GetBytes(style))), script: null)),
            Encoding.ASCII.GetString(ErrorPage.ContentSecurityPolicy));
    }

    [Fact]
    public void It_is_made_once_in_each_coding()
    {
        GeneratedDocument[] pages =
            [.. ((string[])["", "gzip", "br", "zstd", "identity;q=0"]).Select(static coding => PageOf(404, Encoding.ASCII.GetBytes(coding)))];

        Assert.Equal(
            [ContentCoding.Identity, ContentCoding.Gzip, ContentCoding.Brotli, ContentCoding.Identity, ContentCoding.Identity],
            pages.Select(static page => page.Coding));
        Assert.Same(pages[0], pages[3]);
        Assert.Same(pages[1], PageOf(404, "gzip"u8));
        Assert.NotSame(pages[0], PageOf(410, default));
    }

    private static string TextOf(int status) => Encoding.UTF8.GetString(PageOf(status, default).Bytes);

    private static GeneratedDocument PageOf(int status, ReadOnlySpan<byte> acceptEncoding) =>
        Assert.IsType<GeneratedDocument>(ErrorPage.For(status, "text/html"u8, acceptEncoding));

    /// <summary>Null for a status that has none: the server does not send it.</summary>
    private static string? ReasonOf(int status)
    {
        try
        {
            return Encoding.ASCII.GetString(StatusLine.Of(status))["HTTP/1.1 ".Length..].Trim();
        }
        catch (ArgumentOutOfRangeException)
        {
            return null;
        }
    }

    [GeneratedRegex("<!DOCTYPE html>\n")]
    private static partial Regex Doctype();

    [GeneratedRegex("<style>(.*?)</style>", RegexOptions.Singleline)]
    private static partial Regex Style();

    [GeneratedRegex("""<script|<link|<img|<iframe|\son\w+=|src=|href=|url\(|@import|http:|https:|style=""", RegexOptions.IgnoreCase)]
    private static partial Regex Fetching();
}
