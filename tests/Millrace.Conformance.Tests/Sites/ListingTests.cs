using System.Net;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Sites;

public partial class ListingTests
{
    private const int Group = 29;

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--listing: a directory without an index page is listed as HTML in UTF-8.")]
    public async Task A_directory_is_listed(Site site)
    {
        Response response = (await Listed(site).GetAsync("/no-index/")).Is(200);
        response.HasType("text/html");
        Expect.That(Links(response).Any(static link => link is "file.txt" or "./file.txt"), "no link to file.txt");
    }

    [Theory]
    [Behaviour("RFC 3986 2.1", Group, "--listing: every name is escaped so that its link leads to it.")]
    public async Task Every_link_leads_to_its_file(Site site)
    {
        Response response = (await Listed(site).GetAsync("/names/")).Is(200);
        string[] links = [.. Links(response)];
        foreach (string name in Names.All)
        {
            string? link = links.SingleOrDefault(link => new Uri(new Uri("http://localhost/names/"), link).AbsolutePath is { } path
                && Uri.UnescapeDataString(path) == "/names/" + name);
            Expect.That(link is not null, $"no link to {name}");
            Uri target = new(new Uri("http://localhost/names/"), link!);
            (await Listed(site).GetAsync(target.PathAndQuery)).IsWhole(Names.ContentOf(name));
        }
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--listing: names are escaped in HTML.")]
    public async Task No_name_is_markup(Site site)
    {
        string html = Encoding.UTF8.GetString((await Listed(site).GetAsync("/names/")).Is(200).Body);
        bool isRaw = html.Contains("<b>.txt", StringComparison.Ordinal) || html.Contains("it's \"quoted\"", StringComparison.Ordinal);
        Expect.That(!isRaw, "a raw name");
        Expect.That(WebUtility.HtmlDecode(html).Contains(Names.Angle, StringComparison.Ordinal), $"no {Names.Angle}");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--listing: what is not served is not listed.")]
    public async Task Hidden_names_are_not_listed(Site site)
    {
        (await Listed(site).GetAsync("/no-index/")).Is(200);
        Site errors = site.WithFolder("/sites/errors", "--listing", "--index", "none.html");
        foreach ((Site one, string target) in ((Site, string)[])[(Listed(site), "/no-index/"), (errors, "/")])
        {
            string text = (await one.GetAsync(target)).Is(200).Text;
            foreach (string name in (string[])[".secret", "way-out.txt", "pipe.txt"])
            {
                Expect.That(!text.Contains(name, StringComparison.Ordinal), $"lists {name}");
            }
        }
    }

    [Theory]
    [Behaviour("RFC 9110 12.5.1", Group, "--listing: Accept: application/json gives a JSON array, and the response varies by Accept.")]
    public async Task A_listing_can_be_json(Site site)
    {
        Response response = (await Listed(site).GetAsync("/names/", "Accept: application/json")).Is(200);
        response.HasType("application/json");
        Expect.That(response.Lists("Vary", "Accept"), "no Vary: Accept");
        Expect.That((await Listed(site).GetAsync("/names/")).Lists("Vary", "Accept"), "no Vary: Accept on HTML");
        using var json = JsonDocument.Parse(response.Body);
        string[] names = [.. json.RootElement.EnumerateArray().Select(static entry => entry.GetProperty("name").GetString()!)];
        Expect.Equal(Names.All.Length, names.Intersect(Names.All).Count(), "the number of names");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--listing: ?sort= and &order= sort it.")]
    public Task A_listing_is_sorted(Site site) => Expect.EachAsync(["name", "size", "time"], async key =>
    {
        string[] ascending = await NamesOfAsync(site, $"/types/?sort={key}&order=asc");
        string[] descending = await NamesOfAsync(site, $"/types/?sort={key}&order=desc");
        Expect.Equal(ascending.Length, descending.Length, "the number of names");
        Expect.That(key != "name" || ascending.SequenceEqual(ascending.Order(StringComparer.OrdinalIgnoreCase)), "names out of order");
        Expect.That(key != "name" || descending.SequenceEqual(ascending.Reverse()), "names not reversed");
    });

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, Group,
        "--listing: an index page comes first, a directory without its slash is redirected, HEAD is as GET.")]
    public async Task A_listing_is_the_last_resort(Site site)
    {
        Site listed = Listed(site);
        (await listed.GetAsync("/dir/")).IsWhole(Site.Files["/dir/index.html"]);
        (await listed.GetAsync("/no-index?sort=name")).Is(308);
        Response get = (await listed.GetAsync("/no-index/")).Is(200);
        Response head = (await listed.HeadAsync("/no-index/")).Is(200).Has("Content-Type", get["Content-Type"]!);
        Expect.Equal(get["Content-Length"], head["Content-Length"], "HEAD's Content-Length");
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, Group, "--listing: a thousand files and more are listed like a few.")]
    public async Task A_long_listing_is_as_a_short_one(Site site)
    {
        Response page = (await Listed(site).GetAsync("/sites/many/")).Is(200);
        // On one page, or on two.
        Response next = (await Listed(site).GetAsync("/sites/many/?page=2")).Is(200);
        string[] files = [.. Links(page).Concat(Links(next)).Where(static link => link.EndsWith(".txt", StringComparison.Ordinal)).Distinct()];
        Expect.Equal(Fixture.ManyFiles, files.Length, "the number of links");
        (await Listed(site).GetAsync("/sites/many/", $"If-None-Match: {page["ETag"]}")).Is(304);
        (await Listed(site).GetAsync("/sites/many/", "If-Match: \"another\"")).Is(412);

        // Each of them made for the first time.
        Response head = (await Listed(site).HeadAsync("/sites/many/?sort=time")).Is(200);
        Response get = (await Listed(site).GetAsync("/sites/many/?sort=time")).Is(200);
        Expect.Equal(get["Content-Length"], head["Content-Length"], "HEAD's Content-Length");
        foreach (string order in (string[])["sort=size&order=asc", "sort=size&order=desc"])
        {
            Expect.Equal(Fixture.ManyFiles, (await NamesOfAsync(site, $"/sites/many/?{order}")).Length, "the number of names");
        }
    }

    private static Site Listed(Site site) => site.With("--listing");

    private static async Task<string[]> NamesOfAsync(Site site, string target)
    {
        Response response = (await Listed(site).GetAsync(target, "Accept: application/json")).Is(200);
        using var json = JsonDocument.Parse(response.Body);
        return [.. json.RootElement.EnumerateArray().Select(static entry => entry.GetProperty("name").GetString()!)];
    }

    private static IEnumerable<string> Links(Response response) =>
        Href().Matches(Encoding.UTF8.GetString(response.Body)).Select(static match => WebUtility.HtmlDecode(match.Groups["link"].Value));

    [GeneratedRegex("""href=(?:"(?<link>[^"]*)"|'(?<link>[^']*)')""")]
    private static partial Regex Href();
}
