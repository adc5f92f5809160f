using System.Text;
using FsCheck;
using FsCheck.Fluent;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Rules;

/// <summary>
/// Whatever a request holds, a redirect leads to this site, or to the host its rule names, and its Location is one line of URL text.
/// The paths are those the parser of targets would pass, and worse.
/// </summary>
public class OpenRedirectTests
{
    private const string OnSite =
        """
        /s/* /:splat
        /t* /:splat
        /u/*/end /:splat?x=:splat#:splat
        /v/:a/:b /:b/:a
        /q p=:p /:p
        /r p=:p /x/:p?p=:p#:p
        /* /:splat 302
        """;

    private static readonly string[] Hostile =
    [
        "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil.example", "/\r\n/evil.example",
        "\r\nSet-Cookie: a=b", "\r\n\r\n<script>", "%0d%0aSet-Cookie: a=b", "%2f%2fevil.example", "%5cevil.example", "/%09/evil.example",
        "https://evil.example", "https:evil.example", "javascript:alert(1)", "@evil.example", ":80@evil.example", ".evil.example",
        "/.//evil.example", "/..//evil.example", "/%2e%2e//evil.example", "?//evil.example", "#//evil.example", "ä", "\u0000", "\u007f",
        "\u2028", "\ufffd", "\"><script>", " ", "\u00a0//evil.example", ";//evil.example", "///", "//", "/", "",
    ];

    [Fact]
    public void Nothing_a_request_holds_leads_off_the_site()
    {
        SiteRules rules = TestRules.Compile(redirects: OnSite);
        Assert.Empty(rules.Warnings);
        int redirects = 0;
        foreach (string hostile in Hostile)
        {
            foreach (string asked in (string[])
                [$"/s/{hostile}", $"/t{hostile}", $"/u/{hostile}/end", $"/v/{hostile}/x", $"/v/x/{hostile}", $"/{hostile}", hostile])
            {
                redirects += StaysOn("site.example", rules, Encoding.UTF8.GetBytes(asked), []) ? 1 : 0;
                redirects += StaysOn("site.example", rules, Encoding.UTF8.GetBytes(asked), Encoding.UTF8.GetBytes(hostile)) ? 1 : 0;
            }

            foreach (string path in (string[])["/q", "/r"])
            {
                redirects += StaysOn("site.example", rules, Encoding.UTF8.GetBytes(path), Encoding.UTF8.GetBytes($"p={hostile}")) ? 1 : 0;
            }
        }

        Assert.True(redirects > 300, $"only {redirects} redirects were judged");
    }

    [Fact]
    public void No_bytes_at_all_lead_off_the_site_or_end_the_line()
    {
        SiteRules rules = TestRules.Compile(redirects: OnSite);
        Gen<byte> mean = Gen.Elements((byte)'/', (byte)'\\', (byte)'%', (byte)'2', (byte)'f', (byte)':', (byte)'\r', (byte)'\n', (byte)'.', (byte)'a');
        Gen<byte[]> bytes = Gen.ArrayOf(Gen.OneOf(mean, Gen.Choose(0, 255).Select(value => (byte)value)));
        Gen<byte[]> path = Gen.Elements("/s/", "/t", "/u/", "/v/", "/").SelectMany(prefix => bytes.Select(rest => (byte[])[.. Encoding.ASCII.GetBytes(prefix), .. rest]));
        int redirects = 0;

        Check.One(
            Config.QuickThrowOnFailure.WithMaxTest(5000).WithQuietOnSuccess(true),
            Prop.ForAll(path.ToArbitrary(), bytes.ToArbitrary(), (asked, query) =>
            {
                redirects += StaysOn("site.example", rules, asked, query) ? 1 : 0;
                redirects += StaysOn("site.example", rules, "/q"u8, [.. "p="u8, .. query]) ? 1 : 0;
            }));

        Assert.True(redirects > 2000, $"only {redirects} redirects were judged");
    }

    [Fact]
    public void A_rule_for_another_host_leads_there_and_nowhere_else()
    {
        SiteRules rules = TestRules.Compile(redirects: "/s* https://other.example:splat\n/s* https://other.example/:splat\n/t* https://other.example?:splat\n");
        Assert.Single(rules.Warnings);
        int redirects = 0;
        foreach (string hostile in Hostile)
        {
            redirects += StaysOn("other.example", rules, Encoding.UTF8.GetBytes($"/s{hostile}"), []) ? 1 : 0;
            redirects += StaysOn("other.example", rules, Encoding.UTF8.GetBytes($"/t{hostile}"), Encoding.UTF8.GetBytes(hostile)) ? 1 : 0;
        }

        Assert.Equal(2 * Hostile.Length, redirects);
    }

    /// <summary>Judges the redirect, if there is one, as a browser would resolve it (WHATWG: backslashes are slashes, tabs vanish).</summary>
    private static bool StaysOn(string host, SiteRules rules, ReadOnlySpan<byte> path, ReadOnlySpan<byte> query)
    {
        if (rules.OtherRoutes.Match(path, query, new byte[8192], out RuleTarget target) != RuleMatch.Redirect)
        {
            return false;
        }

        string location = Encoding.Latin1.GetString(target.Location);
        Assert.DoesNotContain(location, character => character is <= ' ' or >= '\x7f' or '\\' or '"' or '<' or '>');
        Assert.False(location.StartsWith("//", StringComparison.Ordinal), location);
        Assert.Equal(host, new Uri(new Uri("https://site.example/a/b"), location).Host);
        return true;
    }
}
