using System.Runtime.CompilerServices;
using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;

namespace Millrace.StaticFiles.Tests.Planning;

public sealed class ResponsePlannerTests : IDisposable
{
    private readonly PlannedSite _site = new();

    public void Dispose() => _site.Dispose();

    [Fact]
    public void Head_is_planned_like_get()
    {
        _site.Files.File("a.txt", "a");

        Planned get = _site.Get("/a.txt");
        Planned head = _site.Plan(Method.Head, "/a.txt");

        Assert.Equal((PlanStatus.Ok, PlanBody.Asset), (get.Status, get.Body));
        Assert.Equal((get.Status, get.Body, get.Asset), (head.Status, head.Body, head.Asset));
        Assert.Same(_site.Asset("/a.txt"), get.Asset);
        Assert.Empty(get.Added);
    }

    [Fact]
    public void A_directory_with_slash_serves_its_index_and_is_404_without_one()
    {
        _site.Files.File("dir/index.html", "x");
        _site.Files.EmptyDirectory("empty");

        Assert.Same(_site.Asset("/dir/index.html"), _site.Get("/dir/").Asset);
        Assert.Equal(PlanStatus.NotFound, _site.Get("/empty/").Status);
        Assert.Equal(PlanStatus.NotFound, _site.Get("/empty").Status);
    }

    [Theory]
    [InlineData("/a.txt")]
    [InlineData("/dir")]
    [InlineData("/nothing")]
    public void Methods_no_file_takes_are_405_with_allow_and_unknown_ones_501(string path)
    {
        _site.Files.File("a.txt", "a");
        _site.Files.File("dir/index.html", "a");

        Planned other = _site.Plan(Method.Post, path);
        Planned unknown = _site.Plan(Method.Unknown, path);
        Planned options = _site.Plan(Method.Options, path);

        Assert.Equal((PlanStatus.MethodNotAllowed, "GET, HEAD, OPTIONS"), (other.Status, other.Field("Allow")));
        Assert.Equal((PlanStatus.NotImplemented, null), (unknown.Status, unknown.Field("Allow")));
        Assert.Equal((PlanStatus.NoContent, PlanBody.None, "GET, HEAD, OPTIONS"), (options.Status, options.Body, options.Field("Allow")));
    }

    [Theory]
    [InlineData("Get", "/a%2Fb")]
    [InlineData("Get", "/%zz")]
    [InlineData("Get", "/../a.txt")]
    [InlineData("Unknown", "/a.txt")]
    public void Rules_for_all_paths_hold_for_those_that_name_nothing(string method, string target)
    {
        using var site = new PlannedSite();
        site.Files.File("_headers", "/*\n  X-All: yes\n");

        Planned plan = site.Plan(Enum.Parse<Method>(method), target);

        Assert.Contains("X-All: yes", plan.Fields.Fields.ToArray().Select(static field => field.ToString()));
    }

    [Theory]
    [InlineData("/%zz", PlanStatus.BadRequest)]
    [InlineData("/a%00", PlanStatus.BadRequest)]
    [InlineData("/../a.txt", PlanStatus.BadRequest)]
    [InlineData("/%2e%2e/a.txt", PlanStatus.BadRequest)]
    [InlineData("//a.txt", PlanStatus.Ok)]
    [InlineData("/dir///index.html", PlanStatus.Ok)]
    [InlineData("//dir//", PlanStatus.Ok)]
    [InlineData("/dir//../a.txt", PlanStatus.NotFound)]
    [InlineData("//%61.txt", PlanStatus.Ok)]
    [InlineData("/.//a.txt", PlanStatus.Ok)]
    [InlineData("//../..//a.txt", PlanStatus.BadRequest)]
    [InlineData("//a.txt//", PlanStatus.NotFound)]
    [InlineData("//", PlanStatus.NotFound)]
    [InlineData("/dir%2findex.html", PlanStatus.NotFound)]
    [InlineData("/a.txt/", PlanStatus.NotFound)]
    [InlineData("/A.TXT", PlanStatus.NotFound)]
    [InlineData("/a.txt.", PlanStatus.NotFound)]
    [InlineData("/a%2etxt", PlanStatus.Ok)]
    [InlineData("/dir/../a.txt", PlanStatus.Ok)]
    [InlineData("/./a.txt", PlanStatus.Ok)]
    public void A_path_is_decoded_once_and_then_must_match(string target, int status)
    {
        _site.Files.File("a.txt", "a");
        _site.Files.File("dir/index.html", "a");

        Assert.Equal(status, _site.Get(target).Status);
    }

    [Theory]
    [InlineData("//a.txt")]
    [InlineData("/dir//index.html")]
    [InlineData("//dir")]
    [InlineData("/dir//")]
    [InlineData("//")]
    public void Slashes_that_are_not_merged_lead_nowhere(string target)
    {
        _site.Options = _site.Options with { MergeSlashes = false };
        _site.Files.File("index.html", "a");
        _site.Files.File("a.txt", "a");
        _site.Files.File("dir/index.html", "a");

        Assert.Equal(PlanStatus.NotFound, _site.Get(target).Status);
    }

    // Followed once, by RFC 3986 section 5.2, they are at the address with one slash each time, on the same host.
    [Theory]
    [InlineData("//dir", "/dir/")]
    [InlineData("///dir?a=b", "/dir/?a=b")]
    [InlineData("/a//b///dir", "/a/b/dir/")]
    [InlineData("//a/b/dir", "/a/b/dir/")]
    [InlineData("/a/./b//../b//dir", "/a/b/b/dir/")]
    [InlineData("//evil.example", "/evil.example/")]
    [InlineData("//with%20space", "/with%20space/")]
    [InlineData("//about.html", "/about")]
    [InlineData("/a//page.html?q", "/a/page?q")]
    [InlineData("/a//page//", "/a/page")]
    [InlineData("/about///", "/about")]
    [InlineData("//index.html", "/")]
    [InlineData("//a///dir//index.html", "/a/dir/")]
    public void Merged_slashes_are_redirected_at_most_once_and_never_to_another_host(string target, string to)
    {
        _site.Options = _site.Options with { CleanUrls = true };
        foreach (string file in (string[])["about.html", "index.html", "dir/index.html", "a/dir/index.html", "a/page.html", "a/b/dir/index.html",
            "a/b/b/dir/index.html", "evil.example/index.html", "with space/index.html"])
        {
            _site.Files.File(file, "x");
        }

        Planned plan = _site.Get(target);
        Assert.Equal(PlanStatus.PermanentRedirect, plan.Status);
        string location = plan.Field("Location")!;
        Assert.False(location.StartsWith('/'), location);
        var followed = new Uri(new Uri($"http://host.example{target}"), location);
        Assert.Equal(("host.example", to), (followed.Host, followed.PathAndQuery));
        Assert.Equal(PlanStatus.Ok, _site.Get(to).Status);
    }

    [Fact]
    public void Rules_see_the_path_with_its_slashes_merged()
    {
        _site.Files.File("_redirects", "/old/* /:splat 301\n");
        _site.Files.File("_headers", "/a/*\n  X-A: yes\n");
        _site.Files.File("a/b.txt", "x");

        Assert.Equal("/evil.example", _site.Get("/old//evil.example").Field("Location"));
        Assert.Equal("/evil.example", _site.Get("//old////evil.example").Field("Location"));
        Assert.Contains("X-A: yes", _site.Get("//a//b.txt").Fields.Fields.ToArray().Select(static field => field.ToString()));
    }

    [Theory]
    [InlineData("dir", "", "dir/")]
    [InlineData("dir", "?a=b&c", "dir/?a=b&c")]
    [InlineData("dir", "?a=%20%41?/:@", "dir/?a=%20%41?/:@")]
    [InlineData("dir", "?a\r\nSet-Cookie: x", "dir/?a%0D%0ASet-Cookie:%20x")]
    [InlineData("dir", "?ä\"<>#\u007f", "dir/?%E4%22%3C%3E%23%7F")]
    [InlineData("a/b/dir", "?q", "dir/?q")]
    [InlineData("with space", "", "with%20space/")]
    [InlineData("käse", "", "k%C3%A4se/")]
    [InlineData("100%25", "", "100%2525/")]
    [InlineData("what?#", "", "what%3F%23/")]
    [InlineData("javascript:alert(1)", "", "javascript%3Aalert(1)/")]
    [InlineData("\\\\evil.example", "", "%5C%5Cevil.example/")]
    [InlineData("line\r\nfeed", "", "line%0D%0Afeed/")]
    public void A_directory_without_slash_redirects_to_it_and_keeps_the_query(string directory, string query, string location)
    {
        _site.Files.File(directory + "/index.html", "x");
        string asked = string.Join('/', directory.Split('/').Select(Uri.EscapeDataString));

        Planned plan = _site.Get('/' + asked + query);

        Assert.Equal(PlanStatus.PermanentRedirect, plan.Status);
        Assert.Equal(location, plan.Field("Location"));
        var followed = new Uri(new Uri($"http://host.example/{asked}"), location);
        Assert.Equal("host.example", followed.Host);
        Assert.Equal($"/{directory}/", Uri.UnescapeDataString(followed.AbsolutePath));
    }

    [Fact]
    public void An_error_has_its_page_with_its_status_and_neither_conditions_nor_ranges_change_that()
    {
        _site.Files.File("404.html", "missing");
        _site.Files.File("sorry.html", "no such method");
        _site.Options = _site.Options with
        {
            ErrorPages = new Dictionary<int, string> { [404] = "/404.html", [405] = "/sorry.html", [501] = "/none.html" },
        };

        Planned missing = _site.Get("/nothing", "If-None-Match: *", "Range: bytes=0-0", "If-Match: \"x\"");

        Assert.Equal((PlanStatus.NotFound, PlanBody.Asset), (missing.Status, missing.Body));
        Assert.Same(_site.Asset("/404.html"), missing.Asset);
        Assert.Same(_site.Asset("/sorry.html"), _site.Plan(Method.Post, "/").Asset);
        Assert.Equal(PlanBody.StatusText, _site.Plan(Method.Unknown, "/").Body);
    }

    [Theory]
    [InlineData("/nothing", 404)]
    [InlineData("/%zz", 400)]
    public void An_error_without_a_page_of_the_site_is_a_page_for_browsers_and_text_for_others(string target, int status)
    {
        _site.Options = _site.Options with { Compression = true };
        const string Browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";

        Planned page = _site.Get(target, Browser, "If-None-Match: *", "Range: bytes=0-0");
        Planned coded = _site.Get(target, Browser, "Accept-Encoding: gzip");
        Planned text = _site.Get(target, "Accept: */*", "Accept-Encoding: gzip");

        Assert.Equal((status, PlanBody.Document, "Accept, Accept-Encoding"), (page.Status, page.Body, page.Field("Vary")));
        Assert.Contains($"<h1><b>{status}</b> ", TextOf(page), StringComparison.Ordinal);
        Assert.StartsWith("default-src 'none'; style-src 'sha256-", page.Field("Content-Security-Policy"), StringComparison.Ordinal);
        Assert.True(page.Document!.EntityTag.IsEmpty);
        Assert.Equal((ContentCoding.Identity, ContentCoding.Gzip), (page.Document.Coding, coded.Document!.Coding));
        Assert.Same(page.Document, _site.Get(target, Browser, "Accept-Encoding: identity;q=0").Document);
        Assert.Equal((status, PlanBody.StatusText, "Accept"), (text.Status, text.Body, text.Field("Vary")));
        Assert.Null(text.Field("Content-Security-Policy"));
    }

    [Fact]
    public void The_pages_that_the_server_makes_are_not_coded_where_nothing_is()
    {
        _site.Files.File("dir/a.txt", "a");
        _site.Options = _site.Options with { Listing = true };

        Planned listing = _site.Get("/dir/", "Accept: text/html", "Accept-Encoding: gzip");
        Planned error = _site.Get("/nothing", "Accept: text/html", "Accept-Encoding: gzip");

        Assert.Equal((ContentCoding.Identity, "Accept"), (listing.Document!.Coding, listing.Field("Vary")));
        Assert.Equal((ContentCoding.Identity, "Accept"), (error.Document!.Coding, error.Field("Vary")));
    }

    [Fact]
    public void A_listing_is_coded_as_the_client_accepts_with_a_tag_for_each_coding()
    {
        for (int i = 0; i < 20; i++)
        {
            _site.Files.File($"dir/{i}.txt", "a");
        }

        _site.Options = _site.Options with { Listing = true, Compression = true };

        Planned plain = _site.Get("/dir/");
        Planned gzip = _site.Get("/dir/", "Accept-Encoding: gzip");
        Planned brotli = _site.Get("/dir/", "Accept-Encoding: gzip, br");

        Assert.Equal(
            [ContentCoding.Identity, ContentCoding.Gzip, ContentCoding.Brotli],
            [plain.Document!.Coding, gzip.Document!.Coding, brotli.Document!.Coding]);
        Assert.All([plain, gzip, brotli], static plan => Assert.Equal("Accept, Accept-Encoding", plan.Field("Vary")));
        string tag = Encoding.ASCII.GetString(gzip.Document.EntityTag);
        Assert.Equal(PlanStatus.NotModified, _site.Get("/dir/", "Accept-Encoding: gzip", $"If-None-Match: {tag}").Status);
        Assert.Equal(PlanStatus.Ok, _site.Get("/dir/", $"If-None-Match: {tag}").Status);
        Planned refused = _site.Get("/dir/", "Accept-Encoding: *;q=0");
        Assert.Equal((PlanStatus.NotAcceptable, "Accept, Accept-Encoding"), (refused.Status, refused.Field("Vary")));
    }

    [Fact]
    public void The_policy_of_the_preset_applies_beside_that_of_a_generated_page()
    {
        _site.Options = _site.Options with { SecurityHeaders = true };

        Planned page = _site.Get("/nothing", "Accept: text/html");

        Assert.StartsWith("default-src 'none'; ", page.Field("Content-Security-Policy"), StringComparison.Ordinal);
        Assert.Equal("frame-ancestors 'self'; base-uri 'self'", page.Fields.Find("Content-Security-Policy")?.Value);
    }

    [Fact]
    public void A_policy_of_the_site_is_the_one_that_is_sent_with_the_page_of_an_error()
    {
        _site.Files.File("_headers", "/*\n  Content-Security-Policy: default-src 'self'\n");

        Planned page = _site.Get("/nothing", "Accept: text/html");

        Assert.Equal(PlanBody.Document, page.Body);
        Assert.Null(page.Field("Content-Security-Policy"));
        Assert.Equal("default-src 'self'", page.Fields.Find("Content-Security-Policy")?.Value);
    }

    [Theory]
    [InlineData("/deep/link", "", PlanStatus.Ok)]
    [InlineData("/deep/link", "application/json", PlanStatus.Ok)]
    [InlineData("/assets/app.js", "*/*", PlanStatus.NotFound)]
    [InlineData("/user/jane.doe", "text/html,*/*;q=0.8", PlanStatus.Ok)]
    [InlineData("/v1.2/guide", "*/*", PlanStatus.Ok)]
    [InlineData("/empty", "", PlanStatus.Ok)]
    [InlineData("/empty/", "", PlanStatus.Ok)]
    public void The_fallback_answers_for_pages_and_not_for_missing_files(string target, string accept, int status)
    {
        _site.Files.File("index.html", "app");
        _site.Files.EmptyDirectory("empty");
        _site.Options = _site.Options with { Fallback = "/index.html" };

        Planned plan = _site.Get(target, $"Accept: {accept}");

        Assert.Equal(status, plan.Status);
        Assert.Equal(status == PlanStatus.Ok, ReferenceEquals(_site.Asset("/index.html"), plan.Asset));
        bool dependsOnAccept = target[(target.LastIndexOf('/') + 1)..].Contains('.', StringComparison.Ordinal);
        Assert.Equal(dependsOnAccept || status == PlanStatus.NotFound ? "Accept" : null, plan.Field("Vary"));
    }

    [Theory]
    [InlineData("/about", PlanStatus.Ok, null)]
    [InlineData("/about.html", PlanStatus.PermanentRedirect, "about")]
    [InlineData("/about.html?a=b", PlanStatus.PermanentRedirect, "about?a=b")]
    [InlineData("/about/", PlanStatus.PermanentRedirect, "../about")]
    [InlineData("/docs/index.html", PlanStatus.PermanentRedirect, "./")]
    [InlineData("/docs/", PlanStatus.Ok, null)]
    [InlineData("/docs", PlanStatus.PermanentRedirect, "docs/")]
    [InlineData("/", PlanStatus.Ok, null)]
    [InlineData("/index.html", PlanStatus.PermanentRedirect, "./")]
    [InlineData("/both", PlanStatus.PermanentRedirect, "both/")]
    [InlineData("/both.html", PlanStatus.Ok, null)]
    [InlineData("/a:b.html", PlanStatus.PermanentRedirect, "a%3Ab")]
    [InlineData("/none", PlanStatus.NotFound, null)]
    [InlineData("/none/", PlanStatus.NotFound, null)]
    [InlineData("/dir/.html", PlanStatus.NotFound, null)]
    public void Clean_urls_have_one_address_for_each_page(string target, int status, string? location)
    {
        foreach (string name in (string[])["index.html", "about.html", "docs/index.html", "both.html", "both/index.html", "a:b.html"])
        {
            _site.Files.File(name, name);
        }

        _site.Options = _site.Options with { CleanUrls = true };

        Planned plan = _site.Get(target);

        Assert.Equal((status, location), (plan.Status, plan.Field("Location")));
    }

    [Fact]
    public void An_index_page_that_is_not_its_directorys_index_has_no_shorter_address()
    {
        _site.Files.File("index.html", "not the index");
        _site.Files.File("home.html", "the index");
        _site.Options = _site.Options with { CleanUrls = true, IndexNames = ["home.html"] };

        Assert.Same(_site.Asset("/index.html"), _site.Get("/index.html").Asset);
        Assert.Same(_site.Asset("/home.html"), _site.Get("/").Asset);
    }

    [Theory]
    [InlineData("/index.html", "/index.html")]
    [InlineData("/docs", "/docs/index.html")]
    [InlineData("/docs/", "/docs/index.html")]
    [InlineData("/page.html", "/page.html")]
    [InlineData("/page", "/page.html")]
    public void What_a_rule_leads_to_answers_at_once_under_the_address_that_was_asked_for(string target, string file)
    {
        foreach (string name in (string[])["index.html", "docs/index.html", "page.html"])
        {
            _site.Files.File(name, name);
        }

        _site.Options = _site.Options with { CleanUrls = true, Redirects = [new RedirectRule("/*", target, 200)] };

        foreach (string asked in (string[])["/some", "/some/", "/some/where"])
        {
            Planned plan = _site.Get(asked);
            Assert.Equal((PlanStatus.Ok, null), (plan.Status, plan.Field("Location")));
            Assert.Same(_site.Asset(file), plan.Asset);
        }
    }

    [Fact]
    public void Forced_rules_go_before_files_and_others_behind_them()
    {
        _site.Files.File("page.html", "page");
        _site.Files.File("other.html", "other");
        _site.Files.File("gone.html", "gone");
        _site.Options = _site.Options with
        {
            Redirects =
            [
                new RedirectRule("/page.html", "/never.html"),
                new RedirectRule("/other.html", "/page.html") { Forced = true },
                new RedirectRule("/old/*", "/new/:splat", 302),
                new RedirectRule("/app/*", "/page.html", 200),
                new RedirectRule("/lost", "/gone.html", 410),
            ],
        };

        Assert.Equal(PlanStatus.Ok, _site.Get("/page.html").Status);
        Assert.Equal((301, "/page.html"), (_site.Get("/other.html").Status, _site.Get("/other.html").Field("Location")));
        Assert.Equal((302, "/new/a/b?q"), (_site.Get("/old/a/b?q").Status, _site.Get("/old/a/b?q").Field("Location")));
        Assert.Same(_site.Asset("/page.html"), _site.Get("/app/x").Asset);
        Assert.Equal((410, _site.Asset("/gone.html")), (_site.Get("/lost").Status, _site.Get("/lost").Asset));
    }

    [Fact]
    public void Who_is_not_admitted_sees_nothing_but_may_ask_for_methods()
    {
        _site.Files.File("a.txt", "a");
        _site.Options = _site.Options with { PasswordFile = _site.Users("ann"), Realm = "r" };

        Planned denied = _site.Get("/a.txt");
        Assert.Equal(
            (PlanStatus.Unauthorized, "Basic realm=\"r\", charset=\"UTF-8\"", null),
            (denied.Status, denied.Field("WWW-Authenticate"), denied.Asset));
        Assert.Equal(PlanStatus.Unauthorized, _site.Get("/nothing").Status);
        Assert.Equal(PlanStatus.NoContent, _site.Plan(Method.Options, "/a.txt").Status);
        BasicAuthentication? verifier = _site.Get("/a.txt", PlannedSite.CredentialsOf("ann")).Verifier;
        Assert.NotNull(verifier);
        _site.Verified = new AuthenticationResult(verifier, AccessDecision.Overloaded);
        Planned overloaded = _site.Get("/a.txt", PlannedSite.CredentialsOf("ann"));
        Assert.Equal((PlanStatus.ServiceUnavailable, "1", null), (overloaded.Status, overloaded.Field("Retry-After"), overloaded.Asset));
    }

    [Fact]
    public void A_preflight_is_answered_for_the_origins_that_are_listed()
    {
        _site.Files.File("a.txt", "a");
        _site.Options = _site.Options with { Cors = new CorsOptions { Origins = ["https://a.example", "https://b.example"] } };

        Planned preflight = _site.Plan(
            Method.Options, "/a.txt", "Origin: https://b.example", "Access-Control-Request-Method: GET");
        Assert.Equal("https://b.example", preflight.Field("Access-Control-Allow-Origin"));
        Assert.NotNull(preflight.Fields.Find("Access-Control-Allow-Methods"));
        Assert.Equal("https://a.example", _site.Get("/a.txt", "Origin: https://a.example").Field("Access-Control-Allow-Origin"));
        Assert.Null(_site.Get("/a.txt", "Origin: https://c.example").Field("Access-Control-Allow-Origin"));
        Assert.Equal("Origin", _site.Get("/a.txt").Fields.Find("Vary")?.Value);
    }

    [Fact]
    public void A_directory_without_index_is_listed_as_page_or_as_json_and_can_be_asked_for_again()
    {
        _site.Files.File("dir/a.txt", "a");
        _site.Options = _site.Options with { Listing = true };

        Planned page = _site.Get("/dir/");
        Planned json = _site.Get("/dir/", "Accept: application/json");

        Assert.Equal((PlanStatus.Ok, PlanBody.Document, "Accept"), (page.Status, page.Body, page.Field("Vary")));
        Assert.Contains("a.txt", Encoding.UTF8.GetString(page.Document!.Bytes), StringComparison.Ordinal);
        Assert.StartsWith("default-src 'none'; style-src 'sha256-", page.Field("Content-Security-Policy"), StringComparison.Ordinal);
        Assert.StartsWith("[{\"name\":\"a.txt\"", Encoding.UTF8.GetString(json.Document!.Bytes), StringComparison.Ordinal);
        string tag = Encoding.ASCII.GetString(page.Document.EntityTag);
        Planned again = _site.Get("/dir/", $"If-None-Match: {tag}");
        Assert.Equal((PlanStatus.NotModified, PlanBody.None), (again.Status, again.Body));
        Planned failed = _site.Get("/dir/", "If-Match: \"x\"", "Accept: text/html");
        Assert.Equal(PlanStatus.PreconditionFailed, failed.Status);
        Assert.DoesNotContain("script-src", failed.Field("Content-Security-Policy"), StringComparison.Ordinal);
        Assert.Equal((PlanStatus.PermanentRedirect, "dir/"), (_site.Get("/dir").Status, _site.Get("/dir").Field("Location")));
    }

    [Fact]
    public void A_directory_that_a_rule_leads_to_is_listed_under_an_address_that_ends_with_a_slash()
    {
        _site.Files.File("files/sub/a.txt", "a");
        _site.Files.File("_redirects", "/dl/* /files/:splat 200\n");
        _site.Options = _site.Options with { Listing = true };

        // Its references would be to what is beside it.
        Assert.Equal(PlanStatus.NotFound, _site.Get("/dl/sub").Status);
        Assert.Equal(PlanStatus.NotFound, _site.Get("/dl/sub", "Accept: application/json").Status);
        Assert.Contains("<h1><bdi>sub</bdi></h1>", TextOf(_site.Get("/dl/sub/")), StringComparison.Ordinal);
    }

    [Fact]
    public void A_listing_says_where_it_is_and_not_where_somebody_was_led_to_it_from()
    {
        _site.Files.File("files/sub/a.txt", "a");
        _site.Files.File("_redirects", "/dl/* /files/:splat 200\n");
        _site.Options = _site.Options with { Listing = true };
        foreach (string path in (string[])["/dl/sub/", "/files/sub/", "/dl/sub/", "/files/sub/"])
        {
            Assert.Contains($"<title>Index of {path}</title>", TextOf(_site.Get(path)), StringComparison.Ordinal);
        }

        Assert.Same(_site.Get("/files/sub/").Document, _site.Get("/files/sub/").Document);
        Assert.Same(_site.Get("/dl/sub/").Document, _site.Get("/dl/sub/").Document);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public void Listings_under_the_addresses_of_rules_make_room_for_each_other_and_leave_the_directories_own()
    {
        for (int i = 0; i < 2000; i++)
        {
            _site.Files.File($"files/{i:D200}.txt", "a");
        }

        _site.Files.File("_redirects", "/* /files/ 200\n");
        _site.Options = _site.Options with { Listing = true };
        WeakReference own = WeakOf("/files/");
        WeakReference first = WeakOf("/0/");
        long bytes = 0;
        for (int i = 1; bytes < 8 * 1024 * 1024; i++)
        {
            GeneratedDocument document = _site.Get($"/{i}/").Document!;
            Assert.Same(document, _site.Get($"/{i}/").Document);
            bytes += document.Bytes.Length;
        }

        GC.Collect();
        Assert.True(own.IsAlive);
        Assert.False(first.IsAlive);
    }

    /// <summary>A listing that only the cache holds.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private WeakReference WeakOf(string path) => new(_site.Get(path).Document);

    private static string TextOf(Planned planned) => Encoding.UTF8.GetString(planned.Document!.Bytes);
}
