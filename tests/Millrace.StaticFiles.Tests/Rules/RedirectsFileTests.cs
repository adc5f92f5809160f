using System.Diagnostics;
using System.Text;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Rules;

public class RedirectsFileTests
{
    [Theory]
    [InlineData("/old /new", "/old", "301 /new")]
    [InlineData("/old /new 302", "/old", "302 /new")]
    [InlineData("/old /new 303", "/old", "303 /new")]
    [InlineData("/old /new 307", "/old", "307 /new")]
    [InlineData("/old /new 308", "/old", "308 /new")]
    [InlineData("/old\t /new\t301", "/old", "301 /new")]
    [InlineData("/old /new # moved", "/old", "301 /new")]
    [InlineData("/old /new", "/other", "none")]
    [InlineData("/old /new", "/old/", "none")]
    [InlineData("/old /new", "/OLD", "none")]
    [InlineData("/app/* /app/index.html 200", "/app/a/b", "200 = /app/index.html")]
    [InlineData("/* /missing.html 404", "/a", "404 = /missing.html")]
    [InlineData("/gone/* /why.html 410", "/gone/a", "410 = /why.html")]
    [InlineData("/gone/* 410", "/gone/a", "410 = ")]
    [InlineData("/news/* /blog/:splat", "/news/2024/a b", "301 /blog/2024/a%20b")]
    [InlineData("/news/* /blog/:splat", "/news/", "301 /blog/")]
    [InlineData("/:year/:slug /posts/:slug-:year", "/2024/x", "301 /posts/x-2024")]
    [InlineData("/:year/:slug /posts/:year/:slug 200", "/2024/ä", "200 = /posts/2024/ä")]
    [InlineData("/a/* https://example.com/b/:splat", "/a/c/d", "301 https://example.com/b/c/d")]
    [InlineData("/a HTTPS://Example.com", "/a", "301 HTTPS://Example.com")]
    [InlineData("/a http://example.com:8080/x", "/a", "301 http://example.com:8080/x")]
    [InlineData("/a http://[::1]:8080/x", "/a", "301 http://[::1]:8080/x")]
    [InlineData("/a/* /b#:splat", "/a/c d", "301 /b#c%20d")]
    [InlineData("/a /b#part", "/a?x=1", "301 /b?x=1#part")]
    [InlineData("/a /wiki/Talk%3AMain", "/a", "301 /wiki/Talk%3AMain")]
    [InlineData("/a /b:c", "/a", "301 /b:c")]
    [InlineData("/caf%C3%A9 /thé", "/café", "301 /th%C3%A9")]
    [InlineData("/a /caf%C3%A9.html 200", "/a", "200 = /café.html")]
    [InlineData("/a /1+1.html?x#y 200", "/a", "200 = /1+1.html")]
    public void A_rule_leads_where_it_says(string file, string asked, string expected)
    {
        SiteRules rules = TestRules.Compile(redirects: file);

        Assert.Empty(rules.Warnings);
        Assert.Equal(expected, rules.Ask(asked));
    }

    [Theory]
    [InlineData("/a /b", "/a?x=1&y=%20", "301 /b?x=1&y=%20")]
    [InlineData("/a /b?z=2", "/a?x=1", "301 /b?z=2")]
    [InlineData("/a /b?", "/a?x=1", "301 /b")]
    [InlineData("/a https://b\u00FCcher.example:8443/\u00FC", "/a", "301 https://xn--bcher-kva.example:8443/%C3%BC")]
    [InlineData("/a https://example.com/b", "/a?x=1", "301 https://example.com/b?x=1")]
    [InlineData("/a https://example.com", "/a?x=1", "301 https://example.com?x=1")]
    [InlineData("/s id=:id /p/:id", "/s?id=7", "301 /p/7")]
    [InlineData("/s id=:id /p/:id", "/s?a=1&id=7&b=2", "301 /p/7?a=1&b=2")]
    [InlineData("/s id=:id /p/:id", "/s?id=1&id=2&c", "301 /p/1?c")]
    [InlineData("/s id=:id /p/:id", "/s?%69d=7", "301 /p/7")]
    [InlineData("/s id=:id /p/:id", "/s?a=7", "none")]
    [InlineData("/s id=:id /p/:id", "/s", "none")]
    [InlineData("/s id=:id /p/:id", "/s?id=", "301 /p/")]
    [InlineData("/s id=5 /five", "/s?id=5", "301 /five")]
    [InlineData("/s id=5 /five", "/s?id=%35", "301 /five")]
    [InlineData("/s id=5 /five", "/s?id=55", "none")]
    [InlineData("/s q=a%20b /found", "/s?q=a+b", "301 /found")]
    [InlineData("/s?id=5 /five", "/s?id=5", "301 /five")]
    [InlineData("/s a=:a b=:b /:b/:a", "/s?a=1&b=2", "301 /2/1")]
    [InlineData("/x/* q=:q /y/:splat?find=:q", "/x/z?q=a+b%26c", "301 /y/z?find=a+b%26c")]
    [InlineData("/s q=:q /find/:q", "/s?q=a+b", "301 /find/a%20b")]
    [InlineData("/s q=:q /find/:q", "/s?q=a/../b", "301 /find/a%2F..%2Fb")]
    [InlineData("/s q=:q /find/:q.html 200", "/s?q=a%20b", "200 = /find/a b.html")]
    [InlineData("/s q=:q /find/:q 200", "/s?q=a%2Fb", "none")]
    [InlineData("/s q=:q /find/:q 200", "/s?q=a%00b", "none")]
    [InlineData("/s q=:q /find/:q 200", "/s?q=%2e%2e", "none")]
    [InlineData("/s q=:q /find/:q/x 200", "/s?q=.", "none")]
    public void Queries_are_asked_for_captured_and_passed_on(string file, string asked, string expected)
    {
        SiteRules rules = TestRules.Compile(redirects: file);

        Assert.Empty(rules.Warnings);
        Assert.Equal(expected, rules.Ask(asked));
    }

    [Fact]
    public void The_first_rule_that_matches_decides_whether_exact_or_not()
    {
        SiteRules rules = TestRules.Compile(redirects: "/a/x /1\n/a/* /2\n/a/y /3\n/b/* /4\n/a/z q=1 /5\n/a/z /6\n");

        Assert.Equal("301 /1", rules.Ask("/a/x"));
        Assert.Equal("301 /2", rules.Ask("/a/y"));
        Assert.Equal("301 /4", rules.Ask("/b/q"));
        Assert.Equal("none", rules.Ask("/c"));
        Assert.Equal("301 /6?q=2", TestRules.Compile(redirects: "/a/z q=1 /5\n/a/z /6\n").Ask("/a/z?q=2"));
        Assert.Equal("301 /5", TestRules.Compile(redirects: "/a/z q=1 /5\n/a/z /6\n").Ask("/a/z?q=1"));
    }

    [Fact]
    public void Options_come_before_the_file()
    {
        SiteOptions options = TestRules.Options with { Redirects = [new RedirectRule("/a", "/option")] };

        SiteRules rules = TestRules.Compile(redirects: "/a /file\n/b /file", options: options);

        Assert.Equal("301 /option", rules.Ask("/a"));
        Assert.Equal("301 /file", rules.Ask("/b"));
    }

    [Fact]
    public void Forced_rules_come_before_files_and_only_those()
    {
        SiteRules rules = TestRules.Compile(redirects: "/a /b 301!\n/c /d 301\n/e /f 200!");

        Assert.Equal("301 /b", rules.Ask("/a", isForced: true));
        Assert.Equal("none", rules.Ask("/a"));
        Assert.Equal("none", rules.Ask("/c", isForced: true));
        Assert.Equal("301 /d", rules.Ask("/c"));
        Assert.Equal("200 = /f", rules.Ask("/e", isForced: true));
        Assert.False(rules.ForcedRoutes.IsEmpty);
        Assert.True(TestRules.Compile(redirects: "/c /d").ForcedRoutes.IsEmpty);
        Assert.True(TestRules.Compile().OtherRoutes.IsEmpty);
    }

    [Theory]
    [InlineData("/* /index.html 302", "/index.html", "none")]
    [InlineData("/* /index.html 302", "/other", "302 /index.html")]
    [InlineData("/* /:splat", "/a/b", "none")]
    [InlineData("/* /:splat", "/a b+c%", "none")]
    [InlineData("/a /a?x=1", "/a", "301 /a?x=1")]
    [InlineData("/a /a?x=1", "/a?x=1", "none")]
    [InlineData("/a x=1 /a", "/a?x=1", "301 /a")]
    public void A_redirect_to_itself_is_none(string file, string asked, string expected) =>
        Assert.Equal(expected, TestRules.Compile(redirects: file).Ask(asked));

    [Theory]
    [InlineData("/a", "no target")]
    [InlineData("/a 301", "no target")]
    [InlineData("/a /b 299", "299 is not a status")]
    [InlineData("/a /b 418", "418 is not a status")]
    [InlineData("/a /b 2000", "2000")]
    [InlineData("/a /b 301!!", "301!!")]
    [InlineData("/a /b 301 Country=us", "Country=us")]
    [InlineData("/a /b Language=de", "Language=de")]
    [InlineData("/a /b 200 Role=admin", "Role=admin")]
    [InlineData("/api/* https://api.example/:splat 200", "--proxy-allow")]
    [InlineData("/a https://example.com/missing 404", "not a path of this site")]
    [InlineData("https://old.example/* https://new.example/:splat", "for a host")]
    [InlineData("http://old.example/ /x", "for a host")]
    [InlineData("a /b", "start with '/'")]
    [InlineData("/a b", "'b'")]
    [InlineData("/a foo /b", "'foo'")]
    [InlineData("/a =x /b", "query parameter")]
    [InlineData("/a /:splat", ":splat")]
    [InlineData("/:a /:b", ":b")]
    [InlineData("/*/x/* /b", "more than one")]
    [InlineData("/a //evil.example", "neither a path")]
    [InlineData("/a /\\evil.example", "neither a path")]
    [InlineData("/a javascript:alert(1)", "neither a path")]
    [InlineData("/a ftp://example.com/", "neither a path")]
    [InlineData("/a https://", "fixed name")]
    [InlineData("/a https:///evil", "fixed name")]
    [InlineData("/* https://:splat/", "fixed name")]
    [InlineData("/* https://example.com:splat", "fixed name")]
    [InlineData("/* https://:splat.example.com/", "fixed name")]
    [InlineData("/a https://user@example.com/", "fixed name")]
    [InlineData("/a https://example.com\\@evil.example/", "fixed name")]
    [InlineData("/a https://bu\u0308cher.example/", "U+0308")]
    [InlineData("/a id=:x id2=:x /b", "taken")]
    [InlineData("/:x id=:x /b", "taken")]
    [InlineData("/a /b\u0001", "")]
    public void What_is_not_understood_is_named_with_its_line_and_skipped(string line, string named)
    {
        SiteRules rules = TestRules.Compile(redirects: $"# comment\n\n{line}\n/good /there\n");
        bool isHarmless = named.Length == 0;

        if (!isHarmless)
        {
            string warning = Assert.Single(rules.Warnings);
            Assert.StartsWith("_redirects:3: ", warning, StringComparison.Ordinal);
            Assert.Contains(named, warning, StringComparison.Ordinal);
        }

        Assert.Equal("301 /there", rules.Ask("/good"));
        Assert.Equal(isHarmless ? "301 /b%01" : "none", rules.Ask("/a"));
    }

    [Fact]
    public void Odd_files_are_read_as_far_as_they_make_sense()
    {
        Assert.Equal("301 /b", TestRules.Compile(redirects: "\uFEFF/a /b").Ask("/a"));
        Assert.Equal("301 /b", TestRules.Compile(redirects: "/x /y\r\n/a /b\r\n").Ask("/a"));
        Assert.Equal("301 /b", TestRules.Compile(redirects: "  /a /b").Ask("/a"));
        Assert.Equal("301 /d", TestRules.Compile(redirects: "/a\0 /b\n/c /d").Ask("/c"));
        Assert.Empty(TestRules.Compile(redirects: "\n\n# only comments\n\r\n   \n").Warnings);

        SiteRules utf16 = SiteRules.Compile(TestRules.Options, default, Encoding.Unicode.GetPreamble().Concat("/a /b"u8.ToArray()).ToArray());
        Assert.Contains("UTF-16", Assert.Single(utf16.Warnings), StringComparison.Ordinal);
        SiteRules invalid = SiteRules.Compile(TestRules.Options, default, "/a\xff /b\n/c /d\n"u8);
        Assert.Equal("301 /d", invalid.Ask("/c"));
    }

    [Fact]
    public void A_huge_file_is_read_at_once_and_its_exact_rules_are_found_at_once()
    {
        var text = new StringBuilder();
        for (int i = 0; i < 40_000; i++)
        {
            text.Append(System.Globalization.CultureInfo.InvariantCulture, $"/old/{i} /new/{i}\n");
        }

        var clock = Stopwatch.StartNew();
        SiteRules rules = TestRules.Compile(redirects: text.ToString());
        for (int i = 0; i < 40_000; i++)
        {
            Assert.Equal($"301 /new/{i}", rules.Ask($"/old/{i}", scratchBytes: 64));
        }

        // 40,000 times 40,000 comparisons would be minutes.
        Assert.InRange(clock.ElapsedMilliseconds, 0, 20_000);
        Assert.Empty(rules.Warnings);
    }

    [Fact]
    public void Rules_with_wildcards_lines_and_warnings_are_limited()
    {
        string many = string.Concat(Enumerable.Range(0, RuleLimits.PatternRoutesMax + 1).Select(i => $"/{i}/* /b\n"));
        string nonsense = string.Concat(Enumerable.Repeat("nonsense\n", 5000));

        SiteRules patterns = TestRules.Compile(redirects: many + "/exact /c\n");
        Assert.Contains($"_redirects:{RuleLimits.PatternRoutesMax + 1}: ", Assert.Single(patterns.Warnings), StringComparison.Ordinal);
        Assert.Equal("301 /c", patterns.Ask("/exact"));
        Assert.Equal("301 /b", patterns.Ask($"/{RuleLimits.PatternRoutesMax - 1}/x"));

        SiteRules warned = TestRules.Compile(redirects: nonsense + "/a /b");
        Assert.Equal(RuleLimits.WarningsMax + 1, warned.Warnings.Count);
        Assert.Contains("4900", warned.Warnings[^1], StringComparison.Ordinal);
        Assert.Equal("301 /b", warned.Ask("/a"));

        SiteRules wide = TestRules.Compile(redirects: $"/a /{new string('b', RuleLimits.LineBytesMax)}\n/c /d");
        Assert.Single(wide.Warnings);
        Assert.Equal("301 /d", wide.Ask("/c"));
    }

    [Fact]
    public void What_does_not_fit_the_scratch_is_too_long_and_nothing_is_cut()
    {
        SiteRules rules = TestRules.Compile(redirects: "/r/* /:splat/:splat?x=:splat#:splat\n/w/* /:splat/:splat 200\n");
        string redirect = rules.Ask("/r/ä b");
        string rewrite = rules.Ask("/w/ä b");

        Assert.Equal("301 /%C3%A4%20b/%C3%A4%20b?x=%C3%A4%20b#%C3%A4%20b", redirect);
        Assert.Equal("200 = /ä b/ä b", rewrite);
        for (int bytes = 0; bytes < redirect.Length - 4; bytes++)
        {
            Assert.Equal("too long", rules.Ask("/r/ä b", scratchBytes: bytes));
        }

        Assert.Equal("too long", rules.Ask("/w/ä b", scratchBytes: 9));
        Assert.Equal(rewrite, rules.Ask("/w/ä b", scratchBytes: 10));
    }
}
