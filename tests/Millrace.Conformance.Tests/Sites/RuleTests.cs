using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Sites;

/// <summary>--redirect, --rewrite, and the files _headers and _redirects that sites bring along.</summary>
public class RuleTests
{
    private const int Group = 29;

    [Theory]
    [Behaviour("RFC 9110 15.4", Group, "--redirect 'FROM TO STATUS': the status and the place that were configured.")]
    public Task A_redirect_is_as_configured(Site site) => Expect.EachAsync(["301", "302", "303", "307", "308"], async status =>
        (await site.With(
            "--redirect", "/r301 /one.txt 301", "--redirect", "/r302 /one.txt 302", "--redirect", "/r303 /one.txt 303",
            "--redirect", "/r307 https://elsewhere.example/x 307", "--redirect", "/r308 /one.txt 308").GetAsync($"/r{status}"))
        .Is(int.Parse(status)).Has("Location", status == "307" ? "https://elsewhere.example/x" : "/one.txt"));

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--redirect: a star in FROM is :splat in TO, a :word is itself.")]
    public async Task A_redirect_carries_its_parts(Site site)
    {
        Site reported = site.With("--redirect", "/blog/* /news/:splat 302", "--redirect", "/u/:name/:page /people/:name?p=:page 302");
        (await reported.GetAsync("/blog/2024/05/post.html")).Is(302).Has("Location", "/news/2024/05/post.html");
        (await reported.GetAsync("/u/ann/7")).Is(302).Has("Location", "/people/ann?p=7");
        (await reported.GetAsync("/u/ann")).Is(404);
    }

    [Theory]
    [Behaviour("RFC 9112 11.1", Group, "--redirect: parts of the path are escaped in the Location.")]
    public Task A_redirect_is_escaped(Site site) => Expect.EachAsync(
        ["/blog/%0d%0aSet-Cookie:%20a=b", "/blog/a%20b", "/blog/%22%3e%3cscript%3e", "/blog/%C3%BC", "/blog/%25"],
        async target =>
        {
            Response response = (await site.With("--redirect", "/blog/* /news/:splat 302").GetAsync(target)).Is(302).Lacks("Set-Cookie");
            Expect.Equal("/news" + target["/blog".Length..].ToLowerInvariant(), response["Location"]!.ToLowerInvariant(), "Location");
        });

    [Theory]
    [Behaviour("RFC 3986 4.2", Group, "--redirect: no path leads the Location to another host.")]
    public Task A_redirect_of_everything_stays_on_its_host(Site site) => Expect.EachAsync(
        ["/old//evil.example", "/old/%2fevil.example", "/old/\\evil.example", "/old/%5cevil.example"],
        async target =>
        {
            string? location = (await site.With("--redirect", "/old/* /:splat 302").GetAsync(target))["Location"];
            bool isElsewhere = location is ['/', '/' or '\\', ..];
            Expect.That(!isElsewhere, $"Location: {location}");
        });

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--redirect: a file comes before a redirect, unless the status has a '!'.")]
    public async Task A_file_comes_before_a_redirect(Site site)
    {
        Site reported = site.With("--redirect", "/one.txt /elsewhere 302", "--redirect", "/text.txt /elsewhere 302!");
        (await reported.GetAsync("/one.txt")).IsWhole(Site.Files["/one.txt"]);
        (await reported.GetAsync("/text.txt")).Is(302).Has("Location", "/elsewhere");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--redirect: the query is kept.")]
    public async Task A_redirect_keeps_the_query(Site site) =>
        (await site.With("--redirect", "/blog/* /news/:splat 302").GetAsync("/blog/a?b=c&d")).Is(302).Has("Location", "/news/a?b=c&d");

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--rewrite 'FROM TO': another file answers, with its own fields.")]
    public async Task A_rewrite_serves_another_file(Site site)
    {
        Site reported = site.With("--rewrite", "/api/* /text.txt");
        (await reported.GetAsync("/api/anything")).IsWhole(Site.Files["/text.txt"]);
        (await reported.GetAsync("/api/anything", "If-None-Match: *")).Is(304);
        (await reported.GetAsync("/api/anything", "Range: bytes=0-4")).IsPart(Site.Files["/text.txt"], 0, 4);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--rewrite: no path leads out of the root or to a hidden file.")]
    public Task A_rewrite_stays_inside(Site site) => Expect.EachAsync(
        ["/x/../outside/secret.txt", "/x/..%2foutside/secret.txt", "/x/%2e%2e/outside/secret.txt", "/x/.git/config",
            "/x/escape-dir/secret.txt"],
        async target => (await site.With("--rewrite", "/x/* /:splat").GetAsync(target)).Is(400, 404));

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, Group,
        "_headers: its fields are in the responses that match, its Cache-Control in place of the default.")]
    public async Task The_headers_file_adds_fields(Site site)
    {
        Site reported = Reported(site);
        (await reported.GetAsync("/one.txt")).Is(200).Has("X-All", "yes").Lacks("X-Asset").Has("Cache-Control", "no-cache");
        (await site.WithFolder("/sites/files", "--site-files", "off").GetAsync("/assets/app.css")).Is(200).Lacks("X-All").Lacks("X-Asset");
        (await reported.GetAsync("/")).Is(200).Has("X-All", "yes");
    }

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, Group,
        "_redirects: moved, with splat and placeholder, after files unless forced, and as a rewrite.")]
    public async Task The_redirects_file_redirects(Site site)
    {
        Site reported = Reported(site);
        (await reported.GetAsync("/old")).Is(301).Has("Location", "/one.txt");
        (await reported.GetAsync("/blog/a/b")).Is(302).Has("Location", "/news/a/b");
        (await reported.GetAsync("/user/ann")).Is(308).Has("Location", "/people/ann");
        (await reported.GetAsync("/one.txt")).Is(200);
        (await reported.GetAsync("/forced/x")).Is(302).Has("Location", "/one.txt");
        (await reported.GetAsync("/assets/app.css")).Is(301).Has("Location", "/one.txt");
        (await reported.GetAsync("/app/route")).IsWhole(Site.Files["/sites/files/index.html"]);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "_headers and _redirects are not served.")]
    public Task Site_files_are_not_served(Site site) => Expect.EachAsync(
        ["/_headers", "/_redirects", "/%5fheaders", "/./_redirects"],
        async target => (await Reported(site).GetAsync(target)).Is(400, 404));

    private static Site Reported(Site site) => site.WithFolder("/sites/files", "--site-files", "on");
}
