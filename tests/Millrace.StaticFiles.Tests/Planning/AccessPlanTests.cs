using System.Net;
using Millrace.Http;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Planning;

public sealed class AccessPlanTests : IDisposable
{
    private readonly PlannedSite _site = new();

    public AccessPlanTests()
    {
        _site.Files.File("index.html", "home");
        _site.Files.File("public.html", "public");
        _site.Files.File("private/index.html", "secret");
        _site.Files.File("private/page.html", "secret");
        _site.Files.File("private/page.html.gz", CodedContent.Gzip("secret"));
        _site.Files.File("private/app.3f2a1b9c.js", "secret");
        _site.Files.File("private/deep/a.txt", "secret");
        _site.Files.File("secret.html", "secret");
        _site.Files.File("secret.html.gz", CodedContent.Gzip("secret"));
        _site.Files.File("secret.html.br", CodedContent.Brotli("secret"));
    }

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData("/private")]
    [InlineData("/private/")]
    [InlineData("/private/index.html")]
    [InlineData("/private/page.html")]
    [InlineData("/private/page.html.gz")]
    [InlineData("/private/page")]
    [InlineData("/private/page/")]
    [InlineData("/private/deep")]
    [InlineData("/private/deep/")]
    [InlineData("/private/deep/a.txt?x=/public")]
    [InlineData("/private/nothing")]
    [InlineData("/%70rivate/page.html")]
    [InlineData("/%50RIVATE/page.html")]
    [InlineData("/PRIVATE/page.html")]
    [InlineData("/Private")]
    [InlineData("//private/page.html")]
    [InlineData("/private//page.html")]
    [InlineData("///private///")]
    [InlineData("/./private/page.html")]
    [InlineData("/public/../private/page.html")]
    [InlineData("/x/%2e%2e/private/page.html")]
    [InlineData("/x/..//private/page.html")]
    [InlineData("/private/../private/page.html")]
    [InlineData("/private%2Fpage.html")]
    [InlineData("/private%2f")]
    [InlineData("/%2Fprivate/page.html")]
    [InlineData("/private/%2Fpage.html")]
    public void No_spelling_of_a_path_leads_around_a_rule(string target)
    {
        _site.Files.File("_redirects", "/private/nothing /public.html 302!\n");
        foreach (bool merges in new[] { true, false })
        {
            foreach (bool isProxied in new[] { false, true })
            {
                using var site = new PlannedSite();
                CopyTo(site);
                site.Options = _site.Options with
                {
                    Root = site.Files.Root,
                    MergeSlashes = merges,
                    CleanUrls = true,
                    Listing = true,
                    Fallback = "/index.html",
                    DeniedClients = [new ClientRule("/private/*", ["all"])],
                    Proxies = isProxied ? [ProxyRuleText.Parse("/* http://a")] : [],
                };
                foreach (Method method in new[] { Method.Get, Method.Head, Method.Post, Method.Options, Method.Unknown, Method.Connect })
                {
                    Assert.Equal(PlanStatus.Forbidden, site.Plan(method, target).Status);
                }
            }
        }
    }

    [Theory]
    [InlineData("/public.html")]
    [InlineData("/privateer")]
    [InlineData("/x/private/y")]
    [InlineData("/private.html")]
    [InlineData("/private/../public.html")]
    public void Other_paths_are_not_covered(string target)
    {
        _site.Options = _site.Options with { DeniedClients = [new ClientRule("/private/*", ["all"])] };

        Assert.NotEqual(PlanStatus.Forbidden, _site.Get(target).Status);
    }

    [Theory]
    [InlineData("/secret.html")]
    [InlineData("/secret")]
    [InlineData("/secret.html/")]
    [InlineData("/secret.html.gz")]
    [InlineData("/secret.html.br")]
    [InlineData("/SECRET.HTML.GZ")]
    [InlineData("/rewritten/1")]
    [InlineData("/forced")]
    [InlineData("/missing/1")]
    public void Clean_urls_siblings_and_targets_of_rewrites_need_what_their_file_needs(string target)
    {
        _site.Files.File("_redirects", "/rewritten/* /secret.html 200\n/forced /secret 200!\n");
        _site.Options = _site.Options with
        {
            CleanUrls = true,
            DeniedClients = [new ClientRule("/secret.html", ["all"])],
            Fallback = "/secret.html",
        };

        Assert.NotEqual(_site.Asset("/secret.html"), _site.Get(target).Asset);
        Assert.Equal(PlanStatus.Forbidden, _site.Get(target).Status);
    }

    [Theory]
    [InlineData("/")]
    [InlineData("/index.html")]
    [InlineData("/INDEX.HTML")]
    public void An_index_needs_what_its_file_needs(string target)
    {
        _site.Options = _site.Options with { DeniedClients = [new ClientRule("*.html", ["all"])] };

        Assert.Equal(PlanStatus.Forbidden, _site.Get(target).Status);
    }

    [Fact]
    public void A_folder_under_another_name_needs_what_its_own_path_needs()
    {
        File.CreateSymbolicLink(_site.Files.PathOf("alias"), "private");
        _site.Files.File("_redirects", "/list/ /private/deep/ 200\n/gone /private/page.html 410\n");
        _site.Options = _site.Options with { DeniedClients = [new ClientRule("/private/*", ["all"])], Listing = true };

        Assert.Equal(PlanStatus.Forbidden, _site.Get("/alias/page.html").Status);
        Assert.Equal(PlanStatus.Forbidden, _site.Get("/alias/deep/").Status);
        Assert.Equal(PlanStatus.Forbidden, _site.Get("/list/").Status);
        Planned gone = _site.Get("/gone");
        Assert.Equal((410, null), (gone.Status, gone.Asset));
    }

    [Fact]
    public void The_page_of_a_refusal_is_shown_to_everybody()
    {
        _site.Options = _site.Options with
        {
            DeniedClients = [new ClientRule("*", ["all"])],
            ErrorPages = new Dictionary<int, string> { [403] = "/public.html" },
        };

        Planned plan = _site.Get("/private/page.html");

        Assert.Equal((PlanStatus.Forbidden, _site.Asset("/public.html")), (plan.Status, plan.Asset));
    }

    [Theory]
    [InlineData("10.1.2.3", true)]
    [InlineData("::ffff:10.1.2.3", true)]
    [InlineData("10.9.9.9", false)]
    [InlineData("11.0.0.1", false)]
    [InlineData("2001:db8:1::1", true)]
    [InlineData("2001:db9::1", false)]
    [InlineData(null, false)]
    public void Where_some_clients_are_allowed_the_others_are_not_and_denied_ones_never(string? client, bool isAllowed)
    {
        _site.Client = client is null ? null : IPAddress.Parse(client);
        _site.Options = _site.Options with
        {
            AllowedClients = [new ClientRule("/private/*", ["10.0.0.0/8", "2001:db8::/32"])],
            DeniedClients = [new ClientRule("/private/*", ["10.9.0.0/16"])],
        };

        Assert.Equal(isAllowed ? PlanStatus.Ok : PlanStatus.Forbidden, _site.Get("/private/page.html").Status);
        Assert.Equal(PlanStatus.Ok, _site.Get("/public.html").Status);
    }

    [Fact]
    public void The_first_rule_that_allows_decides_for_each_reading_of_a_path()
    {
        _site.Client = IPAddress.Loopback;
        _site.Options = _site.Options with
        {
            AllowedClients =
            [
                new ClientRule("/private/deep/*", ["all"]),
                new ClientRule("/private/*", ["10.0.0.0/8"]),
                new ClientRule("/secret.html", ["all"]),
                new ClientRule("/secret.html.gz", ["10.0.0.0/8"]),
            ],
        };

        Assert.Equal(PlanStatus.Ok, _site.Get("/private/deep/a.txt").Status);
        Assert.Equal(PlanStatus.Forbidden, _site.Get("/private/page.html").Status);
        Assert.Equal(PlanStatus.Ok, _site.Get("/secret.html").Status);
        Assert.Equal(PlanStatus.Forbidden, _site.Get("/secret.html.gz").Status);
    }

    [Fact]
    public void A_client_without_an_address_is_unix()
    {
        _site.Options = _site.Options with { AllowedClients = [new ClientRule("*", ["unix", "10.0.0.0/8"])] };

        Assert.Equal(PlanStatus.Ok, _site.Get("/public.html").Status);
    }

    [Theory]
    [InlineData("")]
    [InlineData("10.0.0.1/8")]
    [InlineData("10.0.0.0/33")]
    [InlineData("10.0.0.0/-1")]
    [InlineData("10.1")]
    [InlineData("::1/129")]
    [InlineData("fe80::1%eth0")]
    [InlineData("localhost")]
    [InlineData("all ")]
    public void What_is_no_network_is_refused(string text)
    {
        Assert.Throws<SiteException>(() => ClientNetworks.Parse([text]));
        Assert.Throws<SiteException>(() => ClientNetworks.Parse([]));
    }

    [Fact]
    public async Task Each_path_has_the_password_file_of_the_first_rule_and_the_others_that_of_the_site()
    {
        _site.Options = _site.Options with
        {
            PasswordFile = _site.Users("ann"),
            PasswordRules = [new PasswordRule("/private/*", _site.Users("bob")), new PasswordRule("/public*", null)],
        };

        Assert.Equal(PlanStatus.Ok, _site.Get("/public.html").Status);
        Assert.Equal((PlanStatus.Unauthorized, "Basic realm=\"Restricted\", charset=\"UTF-8\""), Refusal("/secret.html"));
        Assert.Equal(PlanStatus.Unauthorized, Refusal("/private/page.html").Item1);
        Assert.Equal(PlanStatus.Unauthorized, Refusal("/PRIVATE/page.html").Item1);
        Assert.Equal(PlanStatus.Ok, await StatusFor("/secret.html", "ann"));
        Assert.Equal(PlanStatus.Unauthorized, await StatusFor("/secret.html", "bob"));
        Assert.Equal(PlanStatus.Ok, await StatusFor("/private/page.html", "bob"));
        Assert.Equal(PlanStatus.Unauthorized, await StatusFor("/private/page.html", "ann"));

        (int, string?) Refusal(string target) => (_site.Get(target).Status, _site.Get(target).Field("WWW-Authenticate"));
    }

    [Fact]
    public async Task A_rewrite_to_a_path_with_another_password_needs_both()
    {
        string both = _site.Users("ann");
        File.AppendAllText(_site.Users("bob"), File.ReadAllText(both));
        _site.Options = _site.Options with
        {
            PasswordRules = [new PasswordRule("/private/*", _site.Files.Root + ".bob"), new PasswordRule("/open/*", both)],
            Redirects = [new RedirectRule("/open/*", "/private/:splat", 200)],
        };

        Assert.Equal(PlanStatus.Unauthorized, _site.Get("/open/page.html").Status);
        Assert.Equal(PlanStatus.Ok, await StatusFor("/open/page.html", "ann"));
        Assert.Equal(PlanStatus.Unauthorized, await StatusFor("/open/page.html", "bob"));
    }

    [Fact]
    public void Preflights_need_no_credentials_for_files_and_applications_see_none_without()
    {
        _site.Options = _site.Options with
        {
            PasswordRules = [new PasswordRule("/private/*", _site.Users("ann")), new PasswordRule("/api/*", _site.Files.Root + ".ann")],
            Proxies = [ProxyRuleText.Parse("/api/* http://a")],
            Cors = new CorsOptions(),
        };

        Assert.Equal(PlanStatus.NoContent, _site.Plan(Method.Options, "/private/page.html").Status);
        Assert.Equal(PlanStatus.MethodNotAllowed, _site.Plan(Method.Post, "/private/page.html").Status);
        Assert.Equal(PlanStatus.Unauthorized, _site.Plan(Method.Post, "/api/x").Status);
        Assert.Equal(PlanStatus.Unauthorized, _site.Plan(Method.Options, "/api/x").Status);
        Assert.Equal(PlanStatus.Unauthorized, _site.Get("/API/x").Status);
    }

    [Fact]
    public async Task Hashed_names_that_not_everybody_may_see_are_private()
    {
        _site.Files.File("open.3f2a1b9c.js", "open");
        _site.Files.File("clients.3f2a1b9c.js", "clients");
        _site.Options = _site.Options with
        {
            PasswordRules = [new PasswordRule("/private/*", _site.Users("ann"))],
            AllowedClients = [new ClientRule("/clients*", ["unix"]), new ClientRule("/open*", ["all"])],
        };

        _ = await StatusFor("/private/app.3f2a1b9c.js", "ann");

        Assert.Equal("private, max-age=31536000, immutable", CacheControl("/private/app.3f2a1b9c.js"));
        Assert.Equal("private, max-age=31536000, immutable", CacheControl("/clients.3f2a1b9c.js"));
        Assert.Equal("public, max-age=31536000, immutable", CacheControl("/open.3f2a1b9c.js"));

        string? CacheControl(string target) => _site.Get(target, PlannedSite.CredentialsOf("ann")).Fields.CacheControl?.Value;
    }

    [Fact]
    public void A_service_is_asked_after_addresses_and_before_anything_else()
    {
        var first = new ForwardAuthRule("/private/*", "http://auth/verify");
        var second = new ForwardAuthRule("/secret.html", "http://other/");
        _site.Options = _site.Options with
        {
            ForwardAuth = [new ForwardAuthRule("/private/deep/*", null), first, second],
            DeniedClients = [new ClientRule("/private/app*", ["all"])],
            Redirects = [new RedirectRule("/private/both", "/secret.html", 200)],
        };

        Assert.Same(first, _site.Get("/private/page.html").ForwardAuth);
        Assert.Same(first, _site.Get("/PRIVATE").ForwardAuth);
        Assert.Equal(PlanStatus.Ok, _site.Get("/private/deep/a.txt").Status);
        Assert.Equal(PlanStatus.Forbidden, _site.Get("/private/app.3f2a1b9c.js").Status);
        _site.Authorized = [first];
        Assert.Equal(PlanStatus.Ok, _site.Get("/private/page.html").Status);
        Assert.Same(second, _site.Get("/private/both").ForwardAuth);
        _site.Authorized = [first, second];
        Assert.Equal(PlanStatus.Ok, _site.Get("/private/both").Status);
    }

    [Theory]
    [InlineData("/ABC/Äß", "/abc/äSS", false)]
    [InlineData("/ABC/Ä", "/abc/ä", true)]
    [InlineData("/ſ", "/s", false)]
    [InlineData("/\u212A", "/k", false)]
    [InlineData("/Ω", "/ω", true)]
    public void Case_is_folded_as_applications_fold_it(string one, string other, bool areEqual)
    {
        Assert.Equal(areEqual, string.Equals(one, other, StringComparison.OrdinalIgnoreCase));
        Assert.Equal(areEqual, Folded(one).AsSpan().SequenceEqual(Folded(other)));

        static byte[] Folded(string text) => CaseFolding.Fold(System.Text.Encoding.UTF8.GetBytes(text));
    }

    [Fact]
    public void Bytes_that_are_no_text_survive_folding_and_the_longest_result_fits()
    {
        Assert.Equal([0xff, (byte)'a', 0xc3], CaseFolding.Fold([0xff, (byte)'A', 0xc3]));
        for (int code = 0; code <= 0x10ffff; code++)
        {
            if (System.Text.Rune.IsValid(code))
            {
                _ = CaseFolding.Fold(System.Text.Encoding.UTF8.GetBytes(new System.Text.Rune(code).ToString()));
            }
        }
    }

    private async Task<int> StatusFor(string target, string user)
    {
        _site.Verified = default;
        Planned plan = _site.Get(target, PlannedSite.CredentialsOf(user));
        for (int i = 0; i < 3 && plan.Verifier is { } verifier; i++)
        {
            byte[] credentials = System.Text.Encoding.ASCII.GetBytes(PlannedSite.CredentialsOf(user)["Authorization: ".Length..]);
            _site.Verified = new AuthenticationResult(verifier, await verifier.VerifyAsync(credentials));
            plan = _site.Get(target, PlannedSite.CredentialsOf(user));
        }

        return plan.Status;
    }

    private void CopyTo(PlannedSite site)
    {
        foreach (string file in Directory.GetFiles(_site.Files.Root, "*", SearchOption.AllDirectories))
        {
            site.Files.File(Path.GetRelativePath(_site.Files.Root, file), File.ReadAllBytes(file));
        }
    }
}
