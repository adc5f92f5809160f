using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Ranges;

public class IfRangeTests
{
    private const string Section = "RFC 9110 13.1.5";

    private static byte[] Text => Site.Files["/text.txt"];

    [Theory]
    [Behaviour(Section, 18, "If-Range with the current strong entity-tag lets the range be served.")]
    public async Task If_range_with_the_current_tag_is_206(Site site) => (await AskAsync(site, await TagAsync(site))).IsPart(Text, 5, 9);

    [Theory]
    [Behaviour(Section, 18, "If-Range with another entity-tag gives the whole file.")]
    public async Task If_range_with_another_tag_is_200(Site site) => (await AskAsync(site, "\"another\"")).IsWhole(Text);

    [Theory]
    [Behaviour(Section, 18, "If-Range compares strongly: a weak entity-tag gives the whole file.")]
    public async Task If_range_with_a_weak_tag_is_200(Site site) => (await AskAsync(site, $"W/{await TagAsync(site)}")).IsWhole(Text);

    [Theory]
    [Behaviour(Section, 18, "If-Range with exactly the file's date lets the range be served.")]
    public async Task If_range_with_the_same_date_is_206(Site site) => (await AskAsync(site, $"{Fixture.Modified:R}")).IsPart(Text, 5, 9);

    [Theory]
    [Behaviour(Section, 18, "If-Range with a later date gives the whole file.")]
    public async Task If_range_with_a_later_date_is_200(Site site) =>
        (await AskAsync(site, $"{Fixture.Modified.AddDays(1):R}")).IsWhole(Text);

    [Theory]
    [Behaviour(Section, 18, "If-Range with an earlier date gives the whole file.")]
    public async Task If_range_with_an_earlier_date_is_200(Site site) =>
        (await AskAsync(site, $"{Fixture.Modified.AddDays(-1):R}")).IsWhole(Text);

    [Theory]
    [Behaviour(Section, 18, "An If-Range that is neither gives the whole file.")]
    public Task If_range_with_nonsense_is_200(Site site) => Expect.EachAsync(
        ["nonsense", "*", "\"", "0", "\"a\", \"b\""],
        async value => (await AskAsync(site, value)).IsWhole(Text));

    [Theory]
    [Behaviour(Section, 18, "An If-Range that fails beats a Range that cannot be satisfied: 200.")]
    public async Task If_range_that_fails_beats_416(Site site) =>
        (await site.GetAsync("/text.txt", "If-Range: \"another\"", "Range: bytes=999999-")).IsWhole(Text);

    [Theory]
    [Behaviour(Section, 18, "An If-Range that holds lets Range decide: 416.")]
    public async Task If_range_that_holds_is_followed_by_416(Site site) =>
        (await site.GetAsync("/text.txt", $"If-Range: {await TagAsync(site)}", "Range: bytes=999999-")).Is(416);

    [Theory]
    [Behaviour(Section, 18, "If-Range without Range is ignored.")]
    public async Task If_range_without_range_is_ignored(Site site) =>
        (await site.GetAsync("/text.txt", $"If-Range: {await TagAsync(site)}")).IsWhole(Text);

    [Theory]
    [Behaviour(Section, 18, "With HEAD, If-Range and Range are ignored.")]
    public async Task If_range_with_head_is_ignored(Site site) => (await site.HeadAsync(
        "/text.txt", $"If-Range: {await TagAsync(site)}", "Range: bytes=5-9")).Is(200).Lacks("Content-Range");

    [Theory]
    [Behaviour("RFC 9110 8.8.3.3", 22, "If-Range with the entity-tag of one coding gives no part of another.")]
    public async Task If_range_of_another_coding_is_no_part(Site site)
    {
        string plain = (await site.GetAsync("/app.js")).Is(200).Has("ETag").ETag!;
        Response response = await site.GetAsync("/app.js", "Accept-Encoding: gzip", $"If-Range: {plain}", "Range: bytes=5-9");
        if (response.Is(200, 206).Status == 206)
        {
            response.Lacks("Content-Encoding").IsPart(Site.Files["/app.js"], 5, 9);
        }
    }

    private static Task<Response> AskAsync(Site site, string value) => site.GetAsync("/text.txt", $"If-Range: {value}", "Range: bytes=5-9");

    private static async Task<string> TagAsync(Site site) => (await site.GetAsync("/text.txt")).Is(200).Has("ETag").ETag!;
}
