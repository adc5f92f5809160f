using System.Diagnostics;
using System.Text;
using FsCheck;
using FsCheck.Fluent;
using Millrace.Http;
using Millrace.Models;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Tests.Rules;

public class PathPatternTests
{
    [Theory]
    [InlineData("/", "/")]
    [InlineData("/a.txt", "/a.txt")]
    [InlineData("*", "/")]
    [InlineData("*", "/a/b.c")]
    [InlineData("/*", "/")]
    [InlineData("**", "/a")]
    [InlineData("/a/*", "/a/")]
    [InlineData("/a/*", "/a/b/c.js")]
    [InlineData("/a/**/b", "/a/x/y/b")]
    [InlineData("*.js", "/app.js")]
    [InlineData("*.js", "/deep/er/app.js")]
    [InlineData("/assets/*.js", "/assets/lib/app.js")]
    [InlineData("favicon.ico", "/favicon.ico")]
    [InlineData("favicon.ico", "/a/favicon.ico")]
    [InlineData("img/*.png", "/a/img/b.png")]
    [InlineData("/a?c", "/abc")]
    [InlineData("?.js", "/lib/a.js")]
    [InlineData("/:a/:b", "/x/y")]
    [InlineData("/:name.html", "/about.html")]
    [InlineData("/post-:id", "/post-7")]
    [InlineData("/:a/*/:b", "/x/y/z/w")]
    [InlineData("/caf%C3%A9", "/café")]
    [InlineData("/café", "/café")]
    [InlineData("/50%25", "/50%")]
    [InlineData("/%2A%3F%3Ax", "/*?:x")]
    [InlineData("/a:1", "/a:1")]
    [InlineData("/*a*b*", "/xxaxxbxx")]
    public void A_pattern_matches(string pattern, string path) => Assert.True(Parse(pattern).IsMatch(Encoding.UTF8.GetBytes(path)));

    [Theory]
    [InlineData("/", "/a")]
    [InlineData("/a.txt", "/A.txt")]
    [InlineData("/a.txt", "/a.txt/")]
    [InlineData("/a/*", "/a")]
    [InlineData("/a/*", "/ab/c")]
    [InlineData("*.js", "/app.jsx")]
    [InlineData("favicon.ico", "/my-favicon.ico")]
    [InlineData("/a?c", "/a/c")]
    [InlineData("/a?c", "/ac")]
    [InlineData("/:a", "/")]
    [InlineData("/:a", "/x/y")]
    [InlineData("/:a/", "/x")]
    [InlineData("/:name.html", "/.html")]
    [InlineData("/:name.html", "/a.htm")]
    [InlineData("/post-:id", "/post-")]
    [InlineData("/%2A", "/a")]
    [InlineData("/*a*b*", "/xxbxxaxx")]
    [InlineData("/aXb", "/a/b")]
    public void A_pattern_does_not_match(string pattern, string path) =>
        Assert.False(Parse(pattern).IsMatch(Encoding.UTF8.GetBytes(path)));

    [Theory]
    [InlineData("")]
    [InlineData("/a b")]
    [InlineData("/a\tb")]
    [InlineData("/a\r\nb")]
    [InlineData("/a\0")]
    [InlineData("/a\u007f")]
    [InlineData("/a//b")]
    [InlineData("/%")]
    [InlineData("/%4")]
    [InlineData("/%zz")]
    [InlineData("/%00")]
    [InlineData("/a%2Fb")]
    [InlineData("/a%2fb")]
    [InlineData("/:a-:b")]
    [InlineData("/:a*")]
    [InlineData("/*:a")]
    [InlineData("/:a/:a")]
    public void A_pattern_that_cannot_match_or_is_ambiguous_is_refused_with_a_remedy(string pattern)
    {
        SiteException refusal = Assert.Throws<SiteException>(() => Parse(pattern));
        Assert.NotEmpty(refusal.Cause);
        Assert.NotEmpty(refusal.Remedy);
    }

    [Fact]
    public void A_refusal_shows_no_control_characters_and_no_long_pattern()
    {
        SiteException refusal = Assert.Throws<SiteException>(() => Parse("/\u001b[31m\u009b" + new string('a', 900)));
        Assert.DoesNotContain(refusal.Message, char.IsControl);
        Assert.InRange(refusal.Cause.Length, 1, 200);
    }

    [Theory]
    [InlineData("a")]
    [InlineData("*")]
    [InlineData("/a?b")]
    [InlineData("/a#b")]
    [InlineData("/*/b/*")]
    [InlineData("/:splat/*")]
    public void A_route_is_anchored_and_has_one_star(string pattern) =>
        Assert.Throws<SiteException>(() => Parse(pattern, PatternSyntax.Route));

    [Fact]
    public void A_pattern_has_a_longest_length()
    {
        Parse("/" + new string('a', PathPattern.CharactersMax - 1));
        Assert.Throws<SiteException>(() => Parse("/" + new string('a', PathPattern.CharactersMax)));
    }

    [Theory]
    [InlineData("/news/*", "/news/2024/a", "splat=2024/a")]
    [InlineData("/news/*", "/news/", "splat=")]
    [InlineData("/:year/:slug", "/2024/x-y", "year=2024 slug=x-y")]
    [InlineData("/:a/*/z/:b", "/1/2/z/3/z/4", "a=1 b=4 splat=2/z/3")]
    [InlineData("/p-:id.html", "/p-a.b.html", "id=a.b")]
    public void A_route_says_what_it_captured(string pattern, string path, string expected)
    {
        PathPattern route = Parse(pattern, PatternSyntax.Route);
        byte[] bytes = Encoding.UTF8.GetBytes(path);
        TextRange[] captures = new TextRange[route.CaptureNames.Count];

        Assert.True(route.TryMatch(bytes, captures));
        Assert.Equal(expected, string.Join(' ', route.CaptureNames.Select((name, i) => $"{name}={Encoding.UTF8.GetString(captures[i].In(bytes))}")));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public void It_matches_what_a_slow_matcher_matches()
    {
        // Few letters, so that one in some matches; patterns of every construct in any order, of which the refused are skipped.
        Gen<string> path = Gen.ListOf(Gen.Elements("/", "a", "b", ".")).Select(parts => "/" + string.Concat(parts));
        Gen<string> pattern = Gen.ListOf(Gen.Elements("/", "/", "a", "b", ".", "*", "?", ":x", ":y"))
            .Select(parts => string.Concat(parts)).Where(text => text.Length > 0);
        int compiled = 0;
        int matched = 0;

        Check.One(
            Config.QuickThrowOnFailure.WithMaxTest(20_000).WithQuietOnSuccess(true),
            Prop.ForAll(pattern.ToArbitrary(), path.ToArbitrary(), (text, asked) =>
            {
                if (ReferencePattern.Parse(text, PatternSyntax.Glob) is not ReferencePattern reference)
                {
                    return Record.Exception(() => Parse(text)) is SiteException;
                }

                bool expected = reference.IsMatch(asked);
                compiled++;
                matched += expected ? 1 : 0;
                return Parse(text).IsMatch(Encoding.UTF8.GetBytes(asked)) == expected;
            }));

        Assert.True(compiled > 3000 && matched > 400, $"{compiled} patterns were tried, {matched} matched");
    }

    [Theory]
    [InlineData("/*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b")]
    [InlineData("*?a?a?a?a?a?a?a?a?a?a?a?a*?a?a?a?a?a?a?a?ab")]
    [InlineData("/*/:a/:b/:c/:d/:e/:f/:g/:h")]
    [InlineData("*/:a/b*/:c/b*/:d/b*/:e/c")]
    public void A_hostile_pattern_on_a_hostile_path_takes_no_time(string text)
    {
        PathPattern pattern = Parse(text);
        byte[] letters = Encoding.ASCII.GetBytes("/" + new string('a', 8000));
        byte[] segments = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat("/a", 4000)));

        var clock = Stopwatch.StartNew();
        for (int i = 0; i < 20; i++)
        {
            _ = pattern.IsMatch(letters);
            _ = pattern.IsMatch(segments);
        }

        // Some 10 ms each in a debug build on a busy machine; going back over twenty '*' would take longer than the universe has had.
        Assert.InRange(clock.ElapsedMilliseconds, 0, 10_000);
    }

    [Fact]
    public void An_exact_pattern_is_known_as_such()
    {
        Assert.Equal("/a.b"u8, Parse("/a.b").Literal.AsSpan());
        Assert.Null(Parse("/a*").Literal);
        Assert.Null(Parse("/:a").Literal);
        Assert.Null(Parse("a.b").Literal);
    }

    private static PathPattern Parse(string text, PatternSyntax syntax = PatternSyntax.Glob) =>
        PathPattern.Parse(text, syntax);
}
