using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Negotiation;

/// <summary>/app.js has siblings in gzip, br and zstd; /style.css has one in gzip; /bare.js has none.</summary>
public class AcceptEncodingTests
{
    private const string Section = "RFC 9110 12.5.3";

    private static byte[] Plain => Site.Files["/app.js"];

    [Theory]
    [Behaviour(Section, 23, "Accept-Encoding: gzip is answered in gzip.")]
    public async Task Gzip_is_served(Site site) => (await AskAsync(site, "gzip")).IsCoded("gzip", Plain);

    [Theory]
    [Behaviour(Section, 23, "Accept-Encoding: br is answered in br.")]
    public async Task Brotli_is_served(Site site) => (await AskAsync(site, "br")).IsCoded("br", Plain);

    [Theory]
    [Behaviour("RFC 8878 7.2", 23, "Accept-Encoding: zstd is answered in zstd.")]
    public async Task Zstd_is_served(Site site) => (await AskAsync(site, "zstd")).IsCoded("zstd", Plain);

    [Theory]
    [Behaviour(Section, 23, "Without Accept-Encoding the file is served as it is.")]
    public async Task Without_the_field_the_file_is_plain(Site site) => (await site.GetAsync("/app.js")).IsPlain(Plain);

    [Theory]
    [Behaviour(Section, 23, "An empty Accept-Encoding asks for no coding.")]
    public async Task An_empty_field_asks_for_no_coding(Site site) => (await AskAsync(site, "")).IsPlain(Plain);

    [Theory]
    [Behaviour(Section, 23, "A coding of q=0 is not sent.")]
    public Task A_coding_of_weight_0_is_not_sent(Site site) => Expect.EachAsync(
        ["gzip;q=0", "gzip;q=0.0", "gzip;q=0.000", "gzip; q=0", "gzip ;q=0", "gzip;Q=0", "br;q=0, gzip;q=0, zstd;q=0"],
        async value => (await AskAsync(site, value)).IsPlain(Plain));

    [Theory]
    [Behaviour(Section, 23, "The coding of the highest weight is sent: br;q=0.1, gzip;q=0.9 gives gzip.")]
    public async Task The_highest_weight_wins(Site site) =>
        (await AskAsync(site, "br;q=0.1, gzip;q=0.9, zstd;q=0.2")).IsCoded("gzip", Plain);

    [Theory]
    [Behaviour(Section, 23, "Weights differ to the thousandth.")]
    public async Task Weights_differ_to_the_thousandth(Site site) =>
        (await AskAsync(site, "br;q=0.998, gzip;q=0.999")).IsCoded("gzip", Plain);

    [Theory]
    [Behaviour(Section, 23, "identity with the highest weight is sent.")]
    public async Task Identity_of_the_highest_weight_wins(Site site) => (await AskAsync(site, "identity;q=1, gzip;q=0.5")).IsPlain(Plain);

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, 23,
        "With equal weights, the usually smaller coding wins: br before gzip.")]
    public async Task Brotli_wins_among_equals(Site site) =>
        (await AskAsync(site, "gzip, deflate, br")).IsCoded("br", Plain);

    [Theory]
    [Behaviour(Section, 23, "The star means every coding that is not named.")]
    public async Task The_star_stands_for_all_others(Site site)
    {
        Response response = (await AskAsync(site, "*")).Is(200);
        Expect.That(response["Content-Encoding"] is null or "br" or "gzip" or "zstd", $"Content-Encoding: {response["Content-Encoding"]}");
        (await AskAsync(site, "*;q=0.5, gzip;q=0, br;q=0, identity;q=0")).IsCoded("zstd", Plain);
    }

    [Theory]
    [Behaviour(Section, 23, "A star of q=0 excludes what is not named: gzip;q=0.5, *;q=0 gives gzip.")]
    public async Task A_star_of_weight_0_excludes_the_rest(Site site) =>
        (await AskAsync(site, "gzip;q=0.5, *;q=0")).IsCoded("gzip", Plain);

    [Theory]
    [Behaviour(Section, 23, "identity;q=0 with gzip gives gzip.")]
    public async Task Identity_can_be_excluded(Site site) =>
        (await AskAsync(site, "gzip;q=0.1, identity;q=0")).IsCoded("gzip", Plain);

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 23, "Where identity is excluded and no other coding exists, the response is 406 (RFC 9110 15.5.7).")]
    public Task Nothing_acceptable_is_406(Site site) => Expect.EachAsync(
        ["identity;q=0", "*;q=0", "identity;q=0, deflate"],
        async value => (await site.GetAsync("/bare.js", $"Accept-Encoding: {value}")).Is(406));

    [Theory]
    [Behaviour(Section, 23, "If only unavailable codings are accepted, the file is served as it is.")]
    public async Task Unknown_codings_leave_the_file_plain(Site site) =>
        (await AskAsync(site, "deflate, compress;q=0.9, snappy")).IsPlain(Plain);

    [Theory]
    [Behaviour("RFC 9110 8.4.1", 23, "Codings are case-insensitive.")]
    public async Task Codings_have_no_case(Site site) => (await AskAsync(site, "GZip")).IsCoded("gzip", Plain);

    [Theory]
    [Behaviour("RFC 9110 8.4.1.3", 23, "x-gzip means gzip.")]
    public async Task X_gzip_means_gzip(Site site)
    {
        Response response = (await AskAsync(site, "x-gzip")).Is(200);
        Expect.That(response["Content-Encoding"] is "gzip" or "x-gzip", $"{response["Content-Encoding"] ?? "identity"}, not gzip");
    }

    [Theory]
    [Behaviour(Section, 23, "A coding is compared whole: gzip2 and notgzip are not gzip.")]
    public Task A_coding_is_compared_whole(Site site) => Expect.EachAsync(
        ["gzip2", "notgzip", "gzi", "brr", "b", "x-br", "\"gzip\""],
        async value => (await AskAsync(site, value)).IsPlain(Plain));

    [Theory]
    [Behaviour("RFC 9110 5.6.1.2", 23, "White space and empty elements in the list are ignored.")]
    public Task White_space_in_the_list_is_ignored(Site site) => Expect.EachAsync(
        [" ,gzip", ",,gzip,,", "\tgzip\t", "deflate ,\tgzip ; q=1 , "],
        async value => (await AskAsync(site, value)).IsCoded("gzip", Plain));

    [Theory]
    [Behaviour("RFC 9110 5.3", 23, "Several lines count as one list.")]
    public async Task Several_lines_are_one_list(Site site) =>
        (await site.GetAsync("/app.js", "Accept-Encoding: deflate", "Accept-Encoding: gzip")).IsCoded("gzip", Plain);

    [Theory]
    [Behaviour(Section, 23, "A malformed weight causes no 5xx.")]
    public Task A_malformed_weight_is_served(Site site) => Expect.EachAsync(
        ["gzip;q=", "gzip;q=x", "gzip;q=2", "gzip;q=-1", "gzip;q=0.0001", "gzip;q=1;q=0", ";q=1", "gzip;", "gzip;level=9"],
        async value => (await AskAsync(site, value)).Is(200, 400));

    [Theory]
    [Behaviour(Section, 23, "A file without siblings is served as it is, or compressed on the way, whatever the client accepts.")]
    public async Task A_file_without_siblings_is_served(Site site)
    {
        Response response = (await site.GetAsync("/10k.bin", "Accept-Encoding: gzip, br, zstd")).Is(200);
        if (response["Content-Encoding"] is null)
        {
            response.IsWhole(Site.Files["/10k.bin"]);
        }
    }

    private static Task<Response> AskAsync(Site site, string value) => site.GetAsync("/app.js", $"Accept-Encoding: {value}");
}
