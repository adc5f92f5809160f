using System.Diagnostics;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Rules;

public class HeadersFileTests
{
    [Fact]
    public void Fields_go_with_the_paths_above_them()
    {
        SiteRules rules = TestRules.Compile(
            """
            # comment
            /*
              X-All: yes
              # comment
              X-Two: a: b, "c"

            /assets/*
              X-Asset: 1
            /a/:name/*.js
              X-Script: 1
            """);

        Assert.Empty(rules.Warnings);
        Assert.Equal(["Cache-Control: no-cache", "X-All: yes", "X-Two: a: b, \"c\""], rules.Fields("/a.html"));
        Assert.Equal(["Cache-Control: no-cache", "X-All: yes", "X-Two: a: b, \"c\"", "X-Asset: 1"], rules.Fields("/assets/a.css"));
        Assert.Contains("X-Script: 1", rules.Fields("/a/b/c.js"));
        Assert.DoesNotContain("X-Script: 1", rules.Fields("/a/c.js"));
    }

    [Fact]
    public void A_later_block_replaces_a_field_and_adds_to_a_list()
    {
        SiteRules rules = TestRules.Compile(
            """
            /*
              X-Frame-Options: DENY
              Cache-Control: max-age=60
              Link: </a.css>; rel=preload
              Set-Cookie: a=1
              Content-Security-Policy: default-src 'self'
            /page
              x-frame-options: SAMEORIGIN
              cache-control: no-store
              link: </b.css>; rel=preload
              Set-Cookie: b=2, x
              Content-Security-Policy: default-src *
            """);

        Assert.Equal(
            [
                "cache-control: no-store",
                "x-frame-options: SAMEORIGIN",
                "Link: </a.css>; rel=preload, </b.css>; rel=preload",
                "Set-Cookie: a=1",
                "Content-Security-Policy: default-src *",
                "Set-Cookie: b=2, x",
            ],
            rules.Fields("/page"));
    }

    [Fact]
    public void A_name_twice_in_a_block_is_joined_but_for_cookies()
    {
        SiteRules rules = TestRules.Compile("/*\n Cache-Control: max-age=0\n cache-control: must-revalidate\n Set-Cookie: a=1\n Set-Cookie: b=2\n");

        Assert.Equal(["Cache-Control: max-age=0, must-revalidate", "Set-Cookie: a=1", "Set-Cookie: b=2"], rules.Fields("/"));
    }

    [Fact]
    public void An_exclamation_mark_takes_a_field_away_wherever_it_came_from()
    {
        SiteRules rules = TestRules.Compile(
            "/*\n X-A: 1\n X-B: 2\n Set-Cookie: a=1\n Set-Cookie: b=2\n/bare/*\n ! X-A\n !x-frame-options\n ! Cache-Control\n ! Set-Cookie\n X-B: 3\n ! X-B\n X-B: 4\n",
            options: TestRules.Options with { SecurityHeaders = true });

        Assert.Empty(rules.Warnings);
        string[] fields = rules.Fields("/bare/a");
        Assert.Contains("X-B: 4", fields);
        Assert.Contains("X-Content-Type-Options: nosniff", fields);
        Assert.DoesNotContain(fields, field => field.StartsWith("X-A", StringComparison.Ordinal)
            || field.StartsWith("X-Frame", StringComparison.Ordinal)
            || field.StartsWith("Cache-Control", StringComparison.Ordinal)
            || field.StartsWith("Set-Cookie", StringComparison.Ordinal)
            || field.Contains('3', StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("/*\n nonsense\n X-Good: 1", 2, "neither a path nor a field")]
    [InlineData("/*\n X Y: 1\n X-Good: 1", 2, "not a field name")]
    [InlineData("/*\n : 1\n X-Good: 1", 2, "not a field name")]
    [InlineData("/*\n X-Empty:\n X-Good: 1", 2, "is empty")]
    [InlineData("/*\n X-Ctl: a\u0001b\n X-Good: 1", 2, "control character")]
    [InlineData("/*\n X-Cr: a\rSet-Cookie: b\n X-Good: 1", 2, "control character")]
    [InlineData("/*\n X-Nul: a\0b\n X-Good: 1", 2, "control character")]
    [InlineData("/*\n X-Utf: ä\n X-Good: 1", 2, "beyond ASCII")]
    [InlineData("/*\n Content-Length: 1\n X-Good: 1", 2, "where the body ends")]
    [InlineData("/*\n transfer-encoding: chunked\n X-Good: 1", 2, "where the body ends")]
    [InlineData("/*\n ETag: \"a\"\n X-Good: 1", 2, "set by the server")]
    [InlineData("/*\n ! ETag\n X-Good: 1", 2, "set by the server")]
    [InlineData("/*\n !\n X-Good: 1", 2, "not a field name")]
    [InlineData("/*\n Basic-Auth: ada:secret\n X-Good: 1", 2, "is not protected")]
    [InlineData("/*\n Content-Type: html\n X-Good: 1", 2, "not a content type")]
    [InlineData("X-Early: 1\n/*\n X-Good: 1", 1, "No path")]
    [InlineData("*.js\n X-Lost: 1\n/*\n X-Good: 1", 1, "start with '/'")]
    [InlineData("https://host.example/*\n X-Lost: 1\n/*\n X-Good: 1", 1, "host")]
    [InlineData("/a//b\n X-Lost: 1\n/*\n X-Good: 1", 1, "'//'")]
    [InlineData("/%zz\n X-Lost: 1\n/*\n X-Good: 1", 1, "hexadecimal")]
    public void A_line_that_is_not_valid_is_reported_with_its_number_and_the_others_apply(string file, int line, string named)
    {
        SiteRules rules = TestRules.Compile(file);

        string warning = Assert.Single(rules.Warnings);
        Assert.StartsWith($"_headers:{line}: ", warning, StringComparison.Ordinal);
        Assert.Contains(named, warning, StringComparison.Ordinal);
        Assert.Equal(["Cache-Control: no-cache", "X-Good: 1"], rules.Fields("/x"));
    }

    [Fact]
    public void Fields_below_a_path_that_was_not_understood_go_with_no_other_path()
    {
        SiteRules rules = TestRules.Compile("/*\n X-Good: 1\n/a//b\n X-Lost: 1\n/c\n X-C: 1\n");

        Assert.Single(rules.Warnings);
        Assert.Equal(["Cache-Control: no-cache", "X-Good: 1"], rules.Fields("/x"));
        Assert.Equal(["Cache-Control: no-cache", "X-Good: 1", "X-C: 1"], rules.Fields("/c"));
    }

    [Fact]
    public void Odd_files_are_read_as_far_as_they_make_sense()
    {
        Assert.Contains("X-A: 1", TestRules.Compile("\uFEFF/*\r\n\tX-A:1\r\n").Fields("/"));
        Assert.Contains("X-A: 1", TestRules.Compile("/*\nX-A: 1").Fields("/"));
        Assert.Contains("X-A: http://x//y", TestRules.Compile("/*\n X-A: http://x//y").Fields("/"));
        Assert.Equal(["Cache-Control: no-cache"], TestRules.Compile("/*\n\n# nothing\n").Fields("/"));
        Assert.Empty(TestRules.Compile("/*\n\n# nothing\n").Warnings);
    }

    [Fact]
    public void A_huge_file_takes_no_time_and_its_blocks_are_limited()
    {
        string many = string.Concat(Enumerable.Range(0, 40_000).Select(i => $"/{i}\n X-A: {i}\n"));
        string joined = "/*\n" + string.Concat(Enumerable.Repeat(" X-A: 0123456789\n", 50_000));
        string named = "/*\n" + string.Concat(Enumerable.Range(0, 50_000).Select(i => $" X-{i}: 1\n"));
        string cookie = string.Concat(Enumerable.Range(0, 20_000).Select(i => $"/*\n Set-Cookie: a{i}\n"));

        var clock = Stopwatch.StartNew();
        SiteRules blocks = TestRules.Compile(many);
        SiteRules values = TestRules.Compile(joined);
        SiteRules names = TestRules.Compile(named);
        SiteRules cookies = TestRules.Compile(cookie);

        Assert.InRange(clock.ElapsedMilliseconds, 0, 20_000);
        Assert.Equal("Set-Cookie: a0", TestRules.Lines(cookies.FieldsFor("/"u8, "/"u8))[1]);
        Assert.Contains("X-A: 1999", blocks.Fields("/1999"));
        Assert.DoesNotContain("X-A: 2000", blocks.Fields("/2000"));
        Assert.Equal(RuleLimits.WarningsMax + 1, blocks.Warnings.Count);
        Assert.Equal(RuleLimits.FieldsMax + 1, names.Fields("/").Length);
        Assert.InRange(TestRules.Lines(cookies.FieldsFor("/"u8, "/"u8)).Length, RuleLimits.FieldsMax, RuleLimits.FieldsMax + 10);
        Assert.InRange(Assert.Single(values.Fields("/"), field => field.StartsWith("X-A", StringComparison.Ordinal)).Length, 8000, 8300);
    }

    [Fact]
    public void Where_cors_is_an_option_the_file_cannot_contradict_it()
    {
        SiteOptions options = TestRules.Options with { Cors = new CorsOptions() };

        SiteRules rules = TestRules.Compile("/*\n Access-Control-Allow-Origin: https://a.example\n", options: options);

        Assert.Contains("set by the server", Assert.Single(rules.Warnings), StringComparison.Ordinal);
        Assert.Contains("Access-Control-Allow-Origin: *", rules.Fields("/"));
        Assert.Empty(TestRules.Compile("/*\n Access-Control-Allow-Origin: https://a.example\n").Warnings);
    }
}
