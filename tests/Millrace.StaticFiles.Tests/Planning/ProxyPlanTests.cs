using Millrace.Http;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Tests.Planning;

public sealed class ProxyPlanTests : IDisposable
{
    private readonly PlannedSite _site = new();

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData("/api/*", "/api/x?a[]=1&b=%7e", "")]
    [InlineData("/api/*", "/api/", "")]
    [InlineData("/api/*", "//api///x", "")]
    [InlineData("/api/*", "/%61pi/x", "")]
    [InlineData("/api/*", "/api/a%2Fb", "")]
    [InlineData("/api/*", "/api/./x?q", "/api/x?q")]
    [InlineData("/api/*", "/x/%2e%2e/api/a b%20", "/api/a%20b%20")]
    [InlineData("/api/*", "/x/..//api/%C3%A9/..", "/api/")]
    public void A_target_without_a_path_gets_the_requests_own_without_dot_segments(string path, string target, string sent)
    {
        Use($"{path} http://127.0.0.1:5000");

        Planned plan = _site.Get(target);

        Assert.Equal((PlanBody.Upstream, sent), (plan.Body, plan.ProxyTarget));
        Assert.Equal(["http://127.0.0.1:5000"], plan.Proxy!.Targets);
    }

    [Theory]
    [InlineData("/api/* http://a/v1/:splat", "/api/x/y", "/v1/x/y")]
    [InlineData("/api/* http://a/v1/:splat", "/api/x%20y%25%C3%A9?q=[1]&r", "/v1/x%20y%25%C3%A9?q=[1]&r")]
    [InlineData("/api/* http://a/v1/:splat", "/api/a%2Fb", "/v1/a/b")]
    [InlineData("/api/* http://a/v1/:splat", "/api/%0d%0aHost:%20b", "/v1/%0D%0AHost:%20b")]
    [InlineData("/u/:id/* http://a/:splat?id=:id", "/u/7&x/y?q=1", "/y?id=7%26x")]
    [InlineData("/api/* http://a/", "/api/x", "/")]
    [InlineData("/api/* http://a?x=1", "/api/x", "/?x=1")]
    [InlineData("/api/* unix:/run/app.sock:/v1/:splat", "/api/x", "/v1/x")]
    public void A_targets_path_is_filled_in_and_percent_encoded(string rule, string target, string sent)
    {
        Use(rule);

        Assert.Equal(sent, _site.Get(target).ProxyTarget);
    }

    [Theory]
    [InlineData("/api/%zz", PlanStatus.BadRequest)]
    [InlineData("/api/%00", PlanStatus.BadRequest)]
    [InlineData("/api/../../x", PlanStatus.BadRequest)]
    [InlineData("/api/..%2Fx", PlanStatus.NotFound)]
    [InlineData("/api/%2e%2e%2fx", PlanStatus.NotFound)]
    [InlineData("/api/x%2F./y", PlanStatus.NotFound)]
    [InlineData("/api/x%2F..", PlanStatus.NotFound)]
    public void A_path_that_is_malformed_or_has_several_meanings_is_not_forwarded(string target, int status)
    {
        Use("/* http://127.0.0.1:5000");

        foreach (Method method in new[] { Method.Get, Method.Post, Method.Unknown, Method.Options })
        {
            Planned plan = _site.Plan(method, target);

            Assert.NotEqual(PlanBody.Upstream, plan.Body);
            Assert.True(method != Method.Get || plan.Status == status, $"{method}: {plan.Status}");
        }
    }

    [Fact]
    public void Captures_cannot_lead_out_of_the_targets_path()
    {
        Use("/v:x/* http://a/app/:x/:splat");

        Assert.Equal("/app/1/secret", _site.Get("/v1/secret").ProxyTarget);
        Assert.Equal(PlanStatus.NotFound, _site.Get("/v../secret").Status);
    }

    [Fact]
    public void A_rule_without_bang_comes_before_files_and_one_with_it_after_files_and_rules()
    {
        Use("/api/* http://a", "/*! http://b");
        _site.Options = _site.Options with { Redirects = [new RedirectRule("/old", "/new")], Fallback = "/index.html" };
        _site.Files.File("api/a.txt", "a");
        _site.Files.File("index.html", "a");
        _site.Files.File("dir/index.html", "a");

        Assert.Equal("http://a:80", _site.Get("/api/a.txt").Proxy?.Targets[0]);
        Assert.Equal(PlanStatus.Ok, _site.Get("/index.html").Status);
        Assert.Equal(PlanStatus.PermanentRedirect, _site.Get("/dir").Status);
        Assert.Equal(301, _site.Get("/old").Status);
        Assert.Equal("http://b:80", _site.Get("/other").Proxy?.Targets[0]);
        Assert.Equal("http://b:80", _site.Get("/other.js").Proxy?.Targets[0]);
        Assert.Equal("http://b:80", _site.Get("/a%2Fb").Proxy?.Targets[0]);
    }

    [Fact]
    public void The_first_rule_in_order_applies()
    {
        Use("/api/v1/* http://a", "/api/* http://b", "/api/v1/x http://c");

        Assert.Equal("http://a:80", _site.Get("/api/v1/x").Proxy?.Targets[0]);
        Assert.Equal("http://b:80", _site.Get("/api/v2").Proxy?.Targets[0]);
    }

    [Theory]
    [InlineData("Post")]
    [InlineData("Options")]
    [InlineData("Unknown")]
    [InlineData("Delete")]
    [InlineData("Connect")]
    public void Any_method_is_for_the_application_where_get_is(string name)
    {
        Method method = Enum.Parse<Method>(name);
        Use("/api/* http://a", "/*! http://b");
        _site.Options = _site.Options with { Cors = new CorsOptions { Origins = ["https://x", "https://y"] } };
        _site.Files.File("a.txt", "a");
        string[] preflight = ["Origin: https://x", "Access-Control-Request-Method: PUT"];

        Planned always = _site.Plan(method, "/api/x", preflight);
        Planned missing = _site.Plan(method, "/x", preflight);
        Planned file = _site.Plan(method, "/a.txt");

        Assert.Equal("http://a:80", always.Proxy?.Targets[0]);
        Assert.Equal("http://b:80", missing.Proxy?.Targets[0]);
        Assert.Empty(always.Added);
        Assert.Empty(missing.Added);
        Assert.Equal(PlanBody.None == file.Body, method == Method.Options);
        Assert.Null(file.Proxy);
        Assert.Equal(method == Method.Unknown ? null : "GET, HEAD, OPTIONS", file.Field("Allow"));
    }

    [Fact]
    public void Trace_connect_without_a_path_and_options_for_the_server_are_never_forwarded()
    {
        Use("/* http://a");

        Assert.Equal(PlanStatus.MethodNotAllowed, _site.Plan(Method.Trace, "/x").Status);
        Assert.Equal(PlanStatus.MethodNotAllowed, _site.Plan(Method.Connect, "").Status);
        Assert.Equal(PlanStatus.NoContent, _site.Plan(Method.Options, "").Status);
    }

    [Fact]
    public void Only_the_operators_own_fields_replace_those_of_the_application()
    {
        Use("/api/* http://a");
        _site.Options = _site.Options with
        {
            SecurityHeaders = true,
            Cors = new CorsOptions(),
            CacheControl = [new CacheRule("*", "max-age=1")],
            Fields = [new FieldRule("/api/*", "X-Frame-Options", "DENY"), new FieldRule("*", "Content-Language", "en")],
        };
        _site.Files.File("_headers", "/*\n  X-Site: 1\n");

        Assert.Equal(
            ["X-Frame-Options: DENY", "Content-Language: en"],
            _site.Get("/api/x").Fields.Fields.ToArray().Select(static field => field.ToString()));
    }

    [Fact]
    public void A_redirects_file_leads_to_an_application_only_if_the_operator_allows_it()
    {
        _site.Options = _site.Options with { ProxyAllow = ["http://127.0.0.1:5000", "https://API.example"] };
        _site.Files.File(
            "_redirects",
            """
            /a/* http://127.0.0.1:5000/x/:splat 200
            /b/* http://127.0.0.1:5001/:splat 200!
            /c/* https://api.example:443/:splat 200!
            /d/* http://127.0.0.1:5000/:splat 302
            """);
        _site.Files.File("a/file.txt", "a");
        _site.Files.File("c/file.txt", "a");

        Assert.Equal("/x/1", _site.Get("/a/1").ProxyTarget);
        Assert.Equal(PlanStatus.Ok, _site.Get("/a/file.txt").Status);
        Assert.Equal(PlanStatus.NotFound, _site.Get("/b/1").Status);
        Assert.Equal(["https://api.example:443"], _site.Get("/c/file.txt").Proxy?.Targets);
        Assert.Equal("/file.txt?q", _site.Plan(Method.Post, "/c/file.txt?q").ProxyTarget);
        Assert.Equal(302, _site.Get("/d/1").Status);
        Assert.Equal(
            "_redirects:2: Requests are not sent to 'http://127.0.0.1:5001': the server's operator has not allowed it. "
            + "Start the server with --proxy-allow http://127.0.0.1:5001, or redirect with status 302.",
            Assert.Single(_site.Snapshot.Rules.Warnings));
    }

    [Fact]
    public void Rules_know_their_targets_in_one_form_and_what_fields_to_send()
    {
        _site.Options = _site.Options with { ProxyVia = true, ProxyForwarded = ForwardedFields.Forwarded };
        Use("/a http://B:80 https://[::1] unix:/run/App.sock http://b host=upstream");

        ProxyRule rule = _site.Get("/a").Proxy!;

        Assert.Equal(["http://b:80", "https://[::1]:443", "unix:/run/App.sock"], rule.Targets);
        Assert.True(rule.ReplacesHost);
        Assert.True(rule.SendsVia);
        Assert.Equal(ForwardedFields.Forwarded, rule.Forwarded);
    }

    [Theory]
    [InlineData("/api/*")]
    [InlineData("")]
    [InlineData("api/* http://a")]
    [InlineData("/api/* http://")]
    [InlineData("/api/* http://u:p@a")]
    [InlineData("/api/* http://a:0")]
    [InlineData("/api/* http://a:65536")]
    [InlineData("/api/* http://a:x")]
    [InlineData("/api/* http://a b")]
    [InlineData("/api/* http://*.a")]
    [InlineData("/api/* http://:splat/x")]
    [InlineData("/api/* ftp://a")]
    [InlineData("/api/* /elsewhere")]
    [InlineData("/api/* http://a/x#y")]
    [InlineData("/api/* http://a/:none")]
    [InlineData("/api/* http://a/x http://b/y")]
    [InlineData("/api/* http://a host=other")]
    [InlineData("/api/* unix:run/app.sock")]
    [InlineData("/a*b* http://a")]
    [InlineData("http://b/* http://a")]
    public void A_rule_that_is_not_valid_is_refused(string text) =>
        Assert.Throws<SiteException>(() => ProxyRuleText.Parse(text));

    private void Use(params string[] rules) =>
        _site.Options = _site.Options with { Proxies = [.. rules.Select(ProxyRuleText.Parse)] };
}
