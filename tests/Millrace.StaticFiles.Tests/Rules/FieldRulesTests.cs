using System.Text;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Tests.Snapshots;
using Millrace.Tests.Shared;

namespace Millrace.StaticFiles.Tests.Rules;

[Collection(nameof(MeasuredAlone))]
public class FieldRulesTests
{
    [Fact]
    public void Without_rules_a_file_has_cache_control_by_its_name()
    {
        SiteRules rules = TestRules.Compile();

        Assert.Equal(["Cache-Control: no-cache"], rules.Fields("/index.html"));
        Assert.Equal(["Cache-Control: public, max-age=31536000, immutable"], rules.Fields("/app.3f2a1b9c.js"));
        Assert.Equal(["Cache-Control: no-cache"], rules.ErrorFields("/app.3f2a1b9c.js"));
        Assert.Empty(rules.RedirectFields("/app.3f2a1b9c.js"));
        Assert.Same(FieldSet.Empty, rules.FieldsForRedirect("/"u8));
    }

    [Fact]
    public void What_not_everybody_may_see_is_not_public()
    {
        SiteRules rules = TestRules.Compile();
        FieldSet fields = rules.FieldsFor("/app.3f2a1b9c.js"u8, "/app.3f2a1b9c.js"u8, isHashed: true, isPrivate: true);

        Assert.Equal(["Cache-Control: private, max-age=31536000, immutable"], TestRules.Lines(fields));
        Assert.Equal(["Cache-Control: no-cache"], TestRules.Lines(rules.FieldsFor("/"u8, "/"u8, isHashed: false, isPrivate: true)));
    }

    [Fact]
    public void The_file_s_name_decides_where_the_url_has_another()
    {
        SiteRules rules = TestRules.Compile(options: TestRules.Options with { CacheControl = [new CacheRule("*.html", "max-age=5")] });

        Assert.Equal(["Cache-Control: max-age=5"], rules.Fields("/", "/index.html"));
        Assert.Equal(["Cache-Control: max-age=5"], rules.Fields("/a.html", "/b.txt"));
        Assert.Equal(["Cache-Control: no-cache"], rules.Fields("/", "/index.txt"));
        Assert.Equal(["Cache-Control: public, max-age=31536000, immutable"], TestRules.Compile().Fields("/x", "/app.3f2a1b9c.js"));
    }

    [Fact]
    public void The_first_cache_control_of_the_options_decides()
    {
        SiteRules rules = TestRules.Compile(options: TestRules.Options with
        {
            CacheControl = [new CacheRule("/a/*", "max-age=1"), new CacheRule("*.js", "max-age=2"), new CacheRule("*", "max-age=3")],
            Fields = [new FieldRule("*", "X-Last", "1")],
        });

        Assert.Equal(["Cache-Control: max-age=1", "X-Last: 1"], rules.Fields("/a/b.js"));
        Assert.Equal(["Cache-Control: max-age=2", "X-Last: 1"], rules.Fields("/b.js"));
        Assert.Equal(["Cache-Control: max-age=3", "X-Last: 1"], rules.Fields("/app.3f2a1b9c.css"));
    }

    [Fact]
    public void Options_go_before_the_site_s_file_and_the_last_field_of_a_name_before_others()
    {
        SiteRules rules = TestRules.Compile(
            "/*\n Cache-Control: max-age=9\n X-A: file\n X-B: file\n",
            options: TestRules.Options with
            {
                CacheControl = [new CacheRule("/strict/*", "no-store")],
                Fields = [new FieldRule("*", "x-a", "first"), new FieldRule("/strict/*", "X-A", "second"), new FieldRule("*", "Link", "a"), new FieldRule("*", "Link", "b")],
            });

        Assert.Equal(["Cache-Control: max-age=9", "x-a: first", "X-B: file", "Link: b"], rules.Fields("/"));
        Assert.Equal(["Cache-Control: no-store", "X-A: second", "X-B: file", "Link: b"], rules.Fields("/strict/x"));
    }

    [Fact]
    public void The_security_preset_can_be_replaced_field_by_field()
    {
        SiteRules rules = TestRules.Compile(
            "/embed/*\n X-Frame-Options: ALLOWALL\n", options: TestRules.Options with { SecurityHeaders = true });

        string[] all =
        [
            "X-Content-Type-Options: nosniff",
            "Referrer-Policy: strict-origin-when-cross-origin",
            "X-Frame-Options: SAMEORIGIN",
            "Content-Security-Policy: frame-ancestors 'self'; base-uri 'self'",
            "Cross-Origin-Opener-Policy: same-origin",
            "Permissions-Policy: camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        ];
        Assert.Equal(["Cache-Control: no-cache", .. all], rules.Fields("/"));
        Assert.Equal(["Cache-Control: no-cache", .. all], rules.ErrorFields("/"));
        Assert.Equal(all, rules.RedirectFields("/"));
        Assert.Contains("X-Frame-Options: ALLOWALL", rules.Fields("/embed/x"));
        Assert.Equal(all.Length + 1, rules.Fields("/embed/x").Length);
    }

    [Fact]
    public void An_error_has_the_fields_of_its_path_but_not_those_about_the_file()
    {
        SiteRules rules = TestRules.Compile(
            """
            /api/*
              Access-Control-Allow-Origin: *
              Cache-Control: public, max-age=31536000
              CDN-Cache-Control: max-age=1
              Expires: 0
              Surrogate-Control: max-age=1
              Content-Type: application/json
              Content-Disposition: attachment
              Content-Security-Policy: default-src 'none'
              ! X-Frame-Options
            """,
            options: TestRules.Options with { CacheControl = [new CacheRule("*", "max-age=7")] });

        Assert.Equal(
            ["Cache-Control: no-cache", "Access-Control-Allow-Origin: *", "Content-Security-Policy: default-src 'none'"],
            rules.ErrorFields("/api/missing"));
        Assert.Equal(["Access-Control-Allow-Origin: *", "Content-Security-Policy: default-src 'none'"], rules.RedirectFields("/api/dir"));
        Assert.Equal(["Cache-Control: no-cache"], rules.ErrorFields("/other"));
    }

    [Fact]
    public void A_content_type_of_a_rule_is_shown_apart()
    {
        SiteRules rules = TestRules.Compile("/feed\n Content-Type: application/rss+xml\n");

        Assert.NotNull(rules.FieldsFor("/feed"u8, "/feed"u8).ContentType);
        Assert.Equal("application/rss+xml", rules.FieldsFor("/feed"u8, "/feed"u8).ContentType?.Value);
        Assert.Null(rules.FieldsFor("/"u8, "/"u8).ContentType);
        Assert.Equal("no-cache", rules.FieldsFor("/"u8, "/"u8).CacheControl?.Value);
    }

    [Fact]
    public void One_combination_of_rules_is_one_set()
    {
        SiteRules rules = TestRules.Compile("/a/*\n X-A: 1\n/b/*\n X-B: 1\n");

        FieldSet set = rules.FieldsFor("/a/1"u8, "/a/1"u8);
        set.Http1Lines = "cached";

        Assert.Same(set, rules.FieldsFor("/a/2"u8, "/a/2"u8));
        Assert.NotSame(set, rules.FieldsFor("/b/2"u8, "/b/2"u8));
        Assert.NotSame(set, rules.FieldsForError("/a/1"u8));
        Assert.NotSame(set, rules.FieldsFor("/a/1"u8, "/a/1"u8, isHashed: true));
        Assert.NotSame(set, rules.FieldsFor("/a/1"u8, "/b/1"u8));
        Assert.Same(TestRules.Compile().FieldsFor("/a"u8, "/a"u8).Fields[0], CachePolicy.Revalidated);
    }

    [Fact]
    public void Rules_beyond_the_bits_of_a_word_are_distinguished()
    {
        SiteRules rules = TestRules.Compile(string.Concat(Enumerable.Range(0, 200).Select(i => $"/{i}/*\n X-N: {i}\n")));

        for (int i = 0; i < 200; i++)
        {
            Assert.Equal(["Cache-Control: no-cache", $"X-N: {i}"], rules.Fields($"/{i}/x"));
        }
    }

    [Fact]
    public void Endless_combinations_are_still_right_and_not_all_kept()
    {
        // 13 rules on 13 letters make 8,192 combinations, more than are kept.
        string file = string.Concat(Enumerable.Range(0, 13).Select(i => $"/*{(char)('a' + i)}*\n X-{(char)('A' + i)}: 1\n"));
        SiteRules rules = TestRules.Compile(file);
        int kept = 0;
        for (int combination = 0; combination < 8192; combination++)
        {
            string path = "/" + string.Concat(Enumerable.Range(0, 13).Where(i => (combination >> i & 1) != 0).Select(i => (char)('a' + i)));
            byte[] bytes = Encoding.ASCII.GetBytes(path);
            FieldSet set = rules.FieldsFor(bytes, bytes);
            Assert.Equal(path.Length, set.Fields.Length);
            kept += ReferenceEquals(set, rules.FieldsFor(bytes, bytes)) ? 1 : 0;
        }

        Assert.Equal(RuleLimits.FieldSetsMax, kept);
    }

    [Fact]
    public void Races_for_a_new_combination_give_one_set()
    {
        for (int round = 0; round < 50; round++)
        {
            SiteRules rules = TestRules.Compile("/a/*\n X-A: 1\n");
            FieldSet[] seen = new FieldSet[4];
            Parallel.For(0, seen.Length, i => seen[i] = rules.FieldsFor("/a/1"u8, "/a/1"u8));
            Assert.All(seen, set => Assert.Same(seen[0], set));
        }
    }

    [Fact]
    public void A_request_whose_combination_was_seen_allocates_nothing()
    {
        SiteRules bare = TestRules.Compile();
        SiteRules rules = TestRules.Compile(
            "/a/*\n X-A: 1\n/*/:x\n X-B: 1\n",
            "/exact /there\n/s id=:id /p/:id\n/w/* /:splat 200\n/r/:a/* /:a/:splat?x=:splat\n",
            TestRules.Options with { CacheControl = [new CacheRule("*.css", "no-store")], Fields = [new FieldRule("*", "X-C", "1")] });
        byte[] scratch = new byte[1024];
        int sum = 0;

        long allocated = Allocations.OfEach(() =>
        {
            sum = 0;
            for (int i = 0; i < 10_000; i++)
            {
                sum += Round();
            }
        });

        Assert.Equal(0, allocated);
        Assert.Equal(10_000 * 18, sum);

        int Round() => bare.FieldsFor("/index.html"u8, "/index.html"u8).Fields.Length
            + bare.FieldsForError("/x"u8).Fields.Length
            + rules.FieldsFor("/a/b"u8, "/a/b.css"u8).Fields.Length
            + rules.FieldsForError("/a/b"u8).Fields.Length
            + rules.FieldsForRedirect("/a/b"u8).Fields.Length
            + (int)rules.ForcedRoutes.Match("/none"u8, "q"u8, scratch, out _)
            + (int)rules.OtherRoutes.Match("/none"u8, "q"u8, scratch, out _)
            + (int)rules.OtherRoutes.Match("/exact"u8, "q"u8, scratch, out _)
            + (int)rules.OtherRoutes.Match("/s"u8, "a=1&id=5"u8, scratch, out _)
            + (int)rules.OtherRoutes.Match("/w/x/y"u8, default, scratch, out _)
            + (int)rules.OtherRoutes.Match("/r/x/y z"u8, "a=b"u8, scratch, out RuleTarget target)
            + target.Status - 301;
    }
}
