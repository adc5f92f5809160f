using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Sites;

/// <summary>--spa, --clean-urls, --error-page, --index: what answers where there is no file of that name.</summary>
public class FallbackTests
{
    private const int Group = 29;

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--spa: a path without a file is answered with 200 and the page.")]
    public Task A_route_is_answered_with_the_page(Site site) => Expect.EachAsync(
        ["/route", "/some/deep/route", "/route?a=b", "/route/"],
        async target => (await site.With("--spa").GetAsync(target)).IsWhole(Site.Files["/index.html"]));

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, Group,
        "--spa: a missing file with an extension is 404, unless Accept lists text/html.")]
    public async Task A_missing_script_is_404(Site site)
    {
        Site spa = site.With("--spa");
        (await spa.GetAsync("/missing.js")).Is(404);
        (await spa.GetAsync("/missing.js", "Accept: */*")).Is(404);
        (await spa.GetAsync("/v1.2", "Accept: text/html,application/xhtml+xml,*/*;q=0.8")).IsWhole(Site.Files["/index.html"]);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--spa: files, directories and methods are as without the flag.")]
    public async Task A_site_with_a_page_serves_its_files(Site site)
    {
        Site spa = site.With("--spa");
        (await spa.GetAsync("/text.txt")).IsWhole(Site.Files["/text.txt"]);
        (await spa.GetAsync("/dir")).Is(308);
        (await spa.AskAsync("POST", "/route", "Content-Length: 0")).Is(405);
    }

    [Theory]
    [Behaviour("RFC 9110 15.4.5", Group, "--spa: the page has its tag under every route, and is validated by it.")]
    public async Task A_route_is_validated(Site site)
    {
        Site spa = site.With("--spa");
        string tag = (await spa.GetAsync("/route")).Is(200).Has("ETag").ETag!;
        (await spa.GetAsync("/other/route", $"If-None-Match: {tag}")).Is(304).Has("ETag", tag);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--spa: dotfiles and ways out of the root lead to no file.")]
    public Task A_route_hides_what_is_hidden(Site site) => Expect.EachAsync(
        ["/.git/config", "/.hidden", "/%2e%2e/outside/secret.txt", "/escape-dir/secret.txt"],
        async target =>
        {
            Response response = (await site.With("--spa").GetAsync(target)).Is(200, 400, 404);
            Expect.That(response.Status != 200 || response.Body.AsSpan().SequenceEqual(Site.Files["/index.html"]), "200 with another page");
        });

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--spa PATH: another page than /index.html.")]
    public async Task Another_page_can_be_named(Site site) =>
        (await site.With("--spa=/about.html").GetAsync("/route")).IsWhole(Site.Files["/about.html"]);

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--clean-urls: /about is about.html.")]
    public async Task A_clean_url_is_a_page(Site site)
    {
        Site clean = site.With("--clean-urls");
        (await clean.GetAsync("/about")).IsWhole(Site.Files["/about.html"]);
        (await clean.GetAsync("/about?a=b")).IsWhole(Site.Files["/about.html"]);
        (await clean.HeadAsync("/about")).Is(200).Has("Content-Length", $"{Site.Files["/about.html"].Length}");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--clean-urls: /about.html is served, or redirected to /about with its query.")]
    public async Task A_page_by_its_full_name_is_served_or_redirected(Site site)
    {
        Response response = (await site.With("--clean-urls").GetAsync("/about.html?a=b")).Is(200, 301, 308);
        bool isRight = response.Status == 200 || response["Location"]!.EndsWith("about?a=b", StringComparison.Ordinal);
        Expect.That(isRight, $"Location: {response["Location"]}");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--clean-urls: files and directories by their own names come first.")]
    public async Task A_file_comes_before_a_clean_url(Site site)
    {
        Site clean = site.With("--clean-urls");
        (await clean.GetAsync("/types/plain")).IsWhole(Site.Files["/types/plain"]);
        (await clean.GetAsync("/dir")).Is(308);
        (await clean.GetAsync("/nothing")).Is(404);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--error-page 404=PATH: the page, with the status.")]
    public async Task An_error_page_is_served_with_its_status(Site site)
    {
        Site errors = site.WithFolder("/sites/errors", "--error-page", "404=/sorry.html");
        Response response = (await errors.GetAsync("/missing")).Is(404);
        Expect.Same(Site.Files["/sites/errors/sorry.html"], response.Body);
        (await errors.GetAsync("/missing", "If-None-Match: *")).Is(404);
        (await errors.GetAsync("/missing", "Range: bytes=0-4")).Is(404);
        (await errors.HeadAsync("/missing")).Is(404).Has("Content-Length", $"{response.Body.Length}");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--index NAMES: the first of them that exists.")]
    public async Task Index_names_are_tried_in_order(Site site)
    {
        (string, string)[] expected = [("home.htm,index.html", "home.htm"), ("none.html,index.html", "index.html")];
        foreach ((string names, string file) in expected)
        {
            Response response = await site.WithFolder("/sites/errors", "--index", names).GetAsync("/");
            response.IsWhole(Site.Files[$"/sites/errors/{file}"]);
        }
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--dotfiles serve: names that begin with a dot are served.")]
    public async Task Dotfiles_can_be_served(Site site) =>
        (await site.With("--dotfiles", "serve").GetAsync("/.hidden")).IsWhole(Site.Files["/.hidden"]);
}
