using System.Text;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Rules;

public class CorsPolicyTests
{
    [Fact]
    public void Any_origin_is_the_same_answer_for_everybody()
    {
        SiteRules rules = TestRules.Compile(options: TestRules.Options with { Cors = new CorsOptions() });

        Assert.False(rules.Cors!.DependsOnOrigin);
        string[] fields = ["Cache-Control: no-cache", "Access-Control-Allow-Origin: *", "Access-Control-Expose-Headers: *"];
        Assert.Equal(fields, rules.Fields("/"));
        Assert.Equal(fields, rules.ErrorFields("/"));
        Assert.Equal(
            [
                "Access-Control-Allow-Origin: *", "Access-Control-Allow-Methods: GET, HEAD, OPTIONS",
                "Access-Control-Allow-Headers: *, Authorization", "Access-Control-Max-Age: 7200",
            ],
            TestRules.Lines(rules.Cors.Preflight));
    }

    [Fact]
    public void One_origin_is_fixed_too_and_needs_no_vary()
    {
        SiteRules rules = TestRules.Compile(options: With("https://A.example:443", "https://a.example"));

        Assert.False(rules.Cors!.DependsOnOrigin);
        Assert.Contains("Access-Control-Allow-Origin: https://a.example", rules.Fields("/"));
        Assert.DoesNotContain("Vary: Origin", rules.Fields("/"));
    }

    [Fact]
    public void Of_several_origins_the_requests_own_is_echoed_with_vary()
    {
        SiteRules rules = TestRules.Compile("/*\n Vary: X-Mine\n", options: With("https://a.example", "http://b.example:8080"));
        CorsPolicy cors = rules.Cors!;

        Assert.True(cors.DependsOnOrigin);
        Assert.Equal(["Cache-Control: no-cache", "Vary: X-Mine, Origin", "Access-Control-Expose-Headers: *"], rules.Fields("/"));
        Assert.Contains("Vary: Origin", TestRules.Lines(cors.Preflight));
        Assert.True(cors.TryAllow("http://b.example:8080"u8, out ReadOnlySpan<byte> allowed));
        Assert.Equal("http://b.example:8080", Encoding.ASCII.GetString(allowed));
        foreach (string origin in (string[])["", "null", "*", "https://a.example.evil", "https://a.exampl", "http://a.example", "https://a.example/"])
        {
            Assert.False(cors.TryAllow(Encoding.ASCII.GetBytes(origin), out allowed));
            Assert.True(allowed.IsEmpty);
        }
    }

    [Theory]
    [InlineData("https://a.example")]
    [InlineData("http://localhost:3000")]
    [InlineData("http://[::1]:3000")]
    [InlineData("capacitor://localhost")]
    public void An_origin_is_accepted(string origin)
    {
        CorsPolicy.CheckOrigin(origin);
        Assert.Contains($"Access-Control-Allow-Origin: {origin}", TestRules.Compile(options: With(origin)).Fields("/"));
    }

    [Fact]
    public void An_international_origin_is_what_browsers_send_of_it()
    {
        CorsPolicy.CheckOrigin("https://b\u00FCcher.example:8443");
        Assert.Contains(
            "Access-Control-Allow-Origin: https://xn--bcher-kva.example:8443",
            TestRules.Compile(options: With("https://B\u00DCCHER.example:8443")).Fields("/"));
        SiteException refusal = Assert.Throws<SiteException>(() => CorsPolicy.CheckOrigin("https://a\u0308.example"));
        Assert.Contains("U+0308", refusal.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("")]
    [InlineData("null")]
    [InlineData("a.example")]
    [InlineData("https://")]
    [InlineData("https://a.example/")]
    [InlineData("https://a.example/path")]
    [InlineData("https://a.example?x")]
    [InlineData("https://*.example")]
    [InlineData("https://user@a.example")]
    [InlineData("https://a.example\r\nX: y")]
    [InlineData("https://a\u0308.example")]
    [InlineData("mailto:a@b.example")]
    public void What_is_no_origin_is_refused_at_start(string origin)
    {
        Assert.Throws<SiteException>(() => CorsPolicy.CheckOrigin(origin));
        Assert.Throws<SiteException>(() => With(origin).Validate());
    }

    private static SiteOptions With(params string[] origins) => TestRules.Options with { Cors = new CorsOptions { Origins = origins } };
}
