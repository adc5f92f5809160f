using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Methods;

/// <summary>HEAD tells what GET would: every field but the one that tells the time.</summary>
public class HeadTests
{
    private const string Section = "RFC 9110 9.3.2";

    [Theory]
    [Behaviour(Section, 23, "HEAD of a file has every field of its GET.")]
    public Task Head_of_a_file_has_the_fields_of_get(Site site) => Expect.EachAsync(
        ["/text.txt", "/one.txt", "/10k.bin", "/300k.bin", "/2m.bin", "/types/file.html", "/assets/app.3f9a1c2b.js"],
        target => IsLikeGetAsync(site, target));

    [Theory]
    [Behaviour(Section, 8, "HEAD of an empty file says Content-Length: 0.")]
    public async Task Head_of_an_empty_file_has_length_0(Site site)
    {
        (await site.HeadAsync("/empty.txt")).Is(200).Has("Content-Length", "0");
        await IsLikeGetAsync(site, "/empty.txt");
    }

    [Theory]
    [Behaviour(Section, 9, "HEAD of a file over 4 GiB has its full length.")]
    public async Task Head_of_a_huge_file_has_its_length(Site site) =>
        (await site.HeadAsync("/huge.bin")).Is(200).Has("Content-Length", $"{Fixture.HugeBytes}");

    [Theory]
    [Behaviour(Section, 23, "HEAD of an index page has every field of its GET.")]
    public Task Head_of_an_index_has_the_fields_of_get(Site site) =>
        Expect.EachAsync(["/", "/dir/"], target => IsLikeGetAsync(site, target));

    [Theory]
    [Behaviour(Section, 23, "HEAD with Accept-Encoding has every field of its GET, the coded length included.")]
    public Task Head_of_a_variant_has_the_fields_of_get(Site site) => Expect.EachAsync(
        ["gzip", "br", "gzip;q=0", "identity", "*"],
        coding => IsLikeGetAsync(site, "/app.js", $"Accept-Encoding: {coding}"));

    [Theory]
    [Behaviour(Section, 23, "HEAD of what does not exist has every field of its GET.")]
    public Task Head_of_nothing_has_the_fields_of_get(Site site) => IsLikeGetAsync(site, "/missing.txt");

    [Theory]
    [Behaviour(Section, 15, "HEAD of a directory without its slash has every field of the redirect.")]
    public Task Head_of_a_redirect_has_the_fields_of_get(Site site) => IsLikeGetAsync(site, "/dir?a=b");

    [Theory]
    [Behaviour(Section, 17, "HEAD with a condition that holds has every field of the 304.")]
    public Task Head_of_a_304_has_the_fields_of_get(Site site) => IsLikeGetAsync(site, "/text.txt", "If-None-Match: *");

    [Theory]
    [Behaviour(Section, 16, "HEAD with a condition that fails is answered with 412.")]
    public Task Head_of_a_412_has_the_fields_of_get(Site site) => IsLikeGetAsync(site, "/text.txt", "If-Match: \"another\"");

    [Theory]
    [Behaviour(Section, 23, "No response to HEAD has a body.")]
    public async Task Head_has_no_body(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        foreach (string target in (string[])["/text.txt", "/missing.txt", "/dir", "/empty.txt", "/300k.bin", "/no-index/"])
        {
            await wire.SendAsync(Site.Request("HEAD", target) + Site.Request("GET", "/one.txt"));
            await wire.ReadResponseAsync("HEAD");
            (await wire.ReadResponseAsync()).IsWhole(Site.Files["/one.txt"]);
        }
    }

    [Theory]
    [Behaviour("RFC 9110 14.2", 20, "HEAD ignores Range: 200 with the whole length.")]
    public Task Head_ignores_range(Site site) => Expect.EachAsync(
        ["bytes=0-0", "bytes=-5", "bytes=0-0,5-6", "bytes=999999-"],
        async range => (await site.HeadAsync("/text.txt", $"Range: {range}")).Is(200).Has("Content-Length", "4321").Lacks("Content-Range"));

    private static async Task IsLikeGetAsync(Site site, string target, params string[] fields)
    {
        Response get = await site.GetAsync(target, fields);
        Response head = await site.HeadAsync(target, fields);
        Expect.Equal(get.Status, head.Status, "HEAD");
        IEnumerable<string> names = get.Fields.Concat(head.Fields).Select(static field => field.Name);
        foreach (string name in names.Distinct(StringComparer.OrdinalIgnoreCase))
        {
            // RFC 9110 9.3.2: what is only known when the content is made may be left out, as are chunks and the length of a notice.
            bool isMade = get.Framing == Framing.Chunked || (get.Status != 200 && head[name] is null && name == "Content-Length");
            bool isReported = !string.Equals(name, "Date", StringComparison.OrdinalIgnoreCase) && !isMade;
            Expect.That(!isReported || get[name] == head[name], $"HEAD's {name} is {head[name] ?? "missing"}, GET's {get[name] ?? "missing"}");
        }
    }
}
