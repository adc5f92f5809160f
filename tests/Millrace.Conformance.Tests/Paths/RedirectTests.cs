using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Paths;

public class RedirectTests
{
    private static readonly int[] Redirects = [301, 308];

    [Theory]
    [Behaviour("RFC 9110 15.4", 15, "A directory without its slash is redirected for good, to itself with the slash.")]
    public async Task A_directory_without_its_slash_is_redirected(Site site)
    {
        Response response = (await site.GetAsync("/dir")).Is(Redirects).Has("Location");
        Expect.Equal("/dir/", Followed("/dir", response).PathAndQuery, "Location");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 15, "The redirect is a 308 with a relative Location.")]
    public async Task A_redirect_is_a_relative_308(Site site)
    {
        Response response = (await site.GetAsync("/dir")).Is(308).Has("Location");
        Expect.That(!response["Location"]!.Contains("://", StringComparison.Ordinal), $"Location: {response["Location"]}");
    }

    [Theory]
    [Behaviour("RFC 9110 10.2.2", 15, "The redirect keeps the query.")]
    public Task A_redirect_keeps_the_query(Site site) => Expect.EachAsync(
        ["?a=b", "?a=b&c=d%20e", "?x=/../y", "?q=%22"],
        async query =>
        {
            Response response = (await site.GetAsync($"/dir{query}")).Is(Redirects).Has("Location");
            Expect.Equal($"/dir/{query}", Followed("/dir", response).PathAndQuery, "Location");
        });

    [Theory]
    [Behaviour("RFC 9110 10.2.2", 15, "A Location is a URI reference: names are escaped in it, and following it leads to the page.")]
    public Task A_redirect_can_be_followed(Site site) => Expect.EachAsync(
        ["/dir", "/a%20dir", "/50%25%20gr%C3%B6%C3%9Fe%3F", "/coded", "/link-dir", "/evil.example"],
        async target =>
        {
            Response response = (await site.GetAsync(target)).Is(Redirects).Has("Location");
            Uri next = Followed(target, response);
            (await site.GetAsync(next.PathAndQuery)).Is(200);
        });

    [Theory]
    [Behaviour("RFC 3986 4.2", 13, "A Location never leads to another host, however many slashes the path has.")]
    public Task A_redirect_stays_on_its_host(Site site) => Expect.EachAsync(
        ["//evil.example", "///evil.example", "////evil.example", "//evil.example/%2e%2e", "//dir", "/%2fevil.example", "/\\evil.example",
            "/%5cevil.example", "//evil.example/..", "/.//evil.example", "/dir/..//evil.example", "//evil.example%2f%2e%2e",
                "//evil.example/?a"],
        async target =>
        {
            Response response = await site.GetAsync(target);
            if (response["Location"] is { } location)
            {
                bool isElsewhere = location is ['/', '/' or '\\', ..] || location.StartsWith("http://evil", StringComparison.Ordinal);
                Expect.That(!isElsewhere, $"Location: {location}");
            }
        });

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, 13,
        "Several slashes in a row are one: files and directories are served as with one, without a redirect.")]
    public Task Several_slashes_are_one(Site site) => Expect.EachAsync(
        ["//one.txt /one.txt", "/dir//file.txt /dir/file.txt", "///dir///file.txt /dir/file.txt", "/dir// /dir/index.html",
            "// /index.html", "//%6fne.txt /one.txt", "/.//one.txt?a=//b /one.txt"],
        async pair => (await site.GetAsync(pair.Split(' ')[0])).IsWhole(Site.Files[pair.Split(' ')[1]]));

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, 13,
        "A directory without its final slash, but with repeated ones, is redirected once, to single slashes.")]
    public Task Several_slashes_before_a_directory_are_one_redirect(Site site) => Expect.EachAsync(
        ["//dir", "///dir?a=b", "//evil.example", "/.//dir", "//dir/..//dir"],
        async target =>
        {
            Response response = (await site.GetAsync(target)).Is(Redirects).Has("Location");
            Uri next = Followed(target, response);
            Expect.Equal("localhost", next.Host, "the host");
            Expect.That(!next.PathAndQuery.Split('?')[0].Contains("//", StringComparison.Ordinal), $"Location: {response["Location"]}");
            (await site.GetAsync(next.PathAndQuery)).Is(200);
        });

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 13, "--merge-slashes off: several slashes in a row are not found.")]
    public Task Several_slashes_lead_nowhere_where_that_is_asked_for(Site site) => Expect.EachAsync(
        ["//one.txt", "/dir//file.txt", "//dir", "/dir//", "//"],
        async target => (await site.With("--merge-slashes", "off").GetAsync(target)).Is(404));

    [Theory]
    [Behaviour("RFC 9110 9.3.1", 15, "A directory is answered with its index page.")]
    public async Task A_directory_is_its_index(Site site)
    {
        (await site.GetAsync("/")).IsWhole(Site.Files["/index.html"]);
        (await site.GetAsync("/dir/")).IsWhole(Site.Files["/dir/index.html"]);
        (await site.GetAsync("/dir/?a=b")).IsWhole(Site.Files["/dir/index.html"]);
    }

    [Theory]
    [Behaviour("RFC 9110 9.3.1", 15, "An index page has its type, its tag and its date like every file.")]
    public async Task An_index_has_the_fields_of_a_file(Site site)
    {
        Response response = (await site.GetAsync("/dir/")).Is(200).Has("ETag").Has("Last-Modified");
        response.HasType("text/html");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 11, "A directory without an index page is not found, and not listed.")]
    public async Task A_directory_without_an_index_is_404(Site site)
    {
        Response response = (await site.GetAsync("/no-index/")).Is(404);
        Expect.That(!response.Text.Contains("file.txt", StringComparison.Ordinal), "a listing");
    }

    [Theory]
    [Behaviour("RFC 9110 15.5.5", 15, "What does not exist is not redirected, with or without a slash.")]
    public Task What_does_not_exist_is_404(Site site) => Expect.EachAsync(
        ["/missing", "/missing/", "/dir/missing", "/missing/index.html", "/dir/index.html/", "/index.htm"],
        async target => (await site.GetAsync(target)).Is(404));

    [Theory]
    [Behaviour("RFC 9110 15.5.5", 15, "A directory with a name like a file's is a directory.")]
    public async Task A_directory_called_like_a_file_is_a_directory(Site site) => (await site.GetAsync("/dir.txt")).Is(301, 308, 403, 404);

    private static Uri Followed(string target, Response response)
    {
        bool isReference = Uri.TryCreate(new Uri($"http://localhost{target}"), response["Location"], out Uri? next);
        Expect.That(isReference && response["Location"]!.All(char.IsAscii), $"Location: {response["Location"]}");
        return next!;
    }
}
