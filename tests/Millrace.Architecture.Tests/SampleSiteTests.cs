using Millrace.Architecture.Tests.Rules;

namespace Millrace.Architecture.Tests;

public class SampleSiteTests
{
    private const string Site = "samples/site/";
    private const int SiteBytesMax = 3_500_000;

    private static readonly SourceFile[] Files =
        [.. Repository.Files.Where(file => file.Path.StartsWith(Site, StringComparison.Ordinal))];

    [Fact]
    public void Everything_the_sample_site_refers_to_is_in_it()
    {
        SourceFile[] documents = [.. Files.Where(file => Path.GetExtension(file.Path) is ".html" or ".css" or ".webmanifest")];

        Assert.Contains(documents, file => file.Path == Site + "index.html");
        Finding.AssertNone(documents.SelectMany(file => SiteRules.References(file, Site, path => Files.Any(other => other.Path == Site + path))));
    }

    [Fact]
    public void The_sample_site_keeps_the_repository_small()
    {
        long siteBytes = Files.Sum(file => new FileInfo(Path.Combine(Repository.Root, file.Path)).Length);

        Assert.True(siteBytes < SiteBytesMax, $"{siteBytes} bytes");
    }

    [Theory]
    [InlineData("<script src=\"https://cdn.example/a.js\">")]
    [InlineData("<img src=\"missing.png\" alt=\"\">")]
    [InlineData("<a href=\"../gallery/\">")]
    [InlineData("@font-face { src: url(\"missing.woff2\"); }")]
    public void A_reference_out_of_the_site_or_to_nothing_is_found(string text) =>
        Assert.Single(SiteRules.References(new SourceFile(Site + "about/index.html", text), Site, path => path == "about/index.html"));

    [Fact]
    public void A_reference_within_the_site_is_accepted() =>
        Assert.Empty(SiteRules.References(
            new SourceFile(Site + "about/index.html", "<a href=\"../about/\"><a href=\"/about/\"><a href=\"#content\">"),
            Site,
            path => path == "about/index.html"));
}
