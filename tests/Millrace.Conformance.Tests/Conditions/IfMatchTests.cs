using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Conditions;

public class IfMatchTests
{
    private const string Section = "RFC 9110 13.1.1";
    private const string Order = "RFC 9110 13.2.2";

    private static readonly string Current = $"{Fixture.Modified:R}";
    private static readonly string Earlier = $"{Fixture.Modified.AddDays(-1):R}";

    [Theory]
    [Behaviour(Section, 16, "If-Match with the current entity-tag is answered with the file.")]
    public async Task If_match_with_the_current_tag_is_200(Site site) =>
        (await site.GetAsync("/text.txt", $"If-Match: {await TagAsync(site)}")).IsWhole(Site.Files["/text.txt"]);

    [Theory]
    [Behaviour(Section, 16, "If-Match with another entity-tag is answered with 412.")]
    public async Task If_match_with_another_tag_is_412(Site site) => (await site.GetAsync("/text.txt", "If-Match: \"another\"")).Is(412);

    [Theory]
    [Behaviour(Section, 16, "If-Match compares strongly: W/\"x\" does not match \"x\".")]
    public async Task If_match_uses_strong_comparison(Site site) =>
        (await site.GetAsync("/text.txt", $"If-Match: W/{await TagAsync(site)}")).Is(412);

    [Theory]
    [Behaviour(Section, 16, "If-Match matches any member of its list.")]
    public async Task If_match_takes_a_list(Site site)
    {
        (await site.GetAsync("/text.txt", $"If-Match: \"a\", {await TagAsync(site)}, \"b\"")).Is(200);
        (await site.GetAsync("/text.txt", "If-Match: \"a\", \"b\"")).Is(412);
    }

    [Theory]
    [Behaviour(Section, 16, "If-Match: * holds for every existing representation.")]
    public async Task If_match_star_is_200(Site site) => (await site.GetAsync("/text.txt", "If-Match: *")).Is(200);

    [Theory]
    [Behaviour("RFC 9110 13.2.1", 16, "If-Match on what does not exist is ignored: 404.")]
    public async Task If_match_is_ignored_where_nothing_is_found(Site site) => (await site.GetAsync("/missing.txt", "If-Match: *")).Is(404);

    [Theory]
    [Behaviour("RFC 9110 15.5.13", 16, "A 412 is complete, and the connection continues.")]
    public async Task A_412_keeps_the_connection(Site site)
    {
        using Wire wire = await site.ConnectAsync();
        await wire.GoesOnAfterAsync((await wire.GetAsync("/text.txt", "If-Match: \"another\"")).Is(412));
    }

    [Theory]
    [Behaviour(Order, 16, "An If-Match that fails beats an If-None-Match that matches: 412.")]
    public async Task If_match_is_evaluated_before_if_none_match(Site site) =>
        (await site.GetAsync("/text.txt", "If-Match: \"another\"", $"If-None-Match: {await TagAsync(site)}")).Is(412);

    [Theory]
    [Behaviour(Order, 16, "An If-Unmodified-Since that fails beats an If-None-Match that matches: 412.")]
    public async Task If_unmodified_since_is_evaluated_before_if_none_match(Site site) => (await site.GetAsync(
        "/text.txt", $"If-Unmodified-Since: {Earlier}", $"If-None-Match: {await TagAsync(site)}")).Is(412);

    [Theory]
    [Behaviour("RFC 9110 13.1.4", 16, "With If-Match, If-Unmodified-Since is ignored.")]
    public async Task If_match_beats_if_unmodified_since(Site site) => (await site.GetAsync(
        "/text.txt", $"If-Match: {await TagAsync(site)}", $"If-Unmodified-Since: {Earlier}")).Is(200);

    [Theory]
    [Behaviour(Order, 16, "An If-Match that holds lets If-None-Match decide: 304.")]
    public async Task If_match_that_holds_is_followed_by_if_none_match(Site site)
    {
        string tag = await TagAsync(site);
        (await site.GetAsync("/text.txt", $"If-Match: {tag}", $"If-None-Match: {tag}")).Is(304);
    }

    [Theory]
    [Behaviour(Order, 16, "An If-Unmodified-Since that holds lets If-Modified-Since decide: 304.")]
    public async Task If_unmodified_since_that_holds_is_followed_by_if_modified_since(Site site) => (await site.GetAsync(
        "/text.txt", $"If-Unmodified-Since: {Current}", $"If-Modified-Since: {Current}")).Is(304);

    [Theory]
    [Behaviour(Order, 16, "A condition that gives 304 beats Range.")]
    public async Task A_304_beats_range(Site site) => (await site.GetAsync(
        "/text.txt", $"If-None-Match: {await TagAsync(site)}", "Range: bytes=0-4")).Is(304);

    [Theory]
    [Behaviour(Order, 16, "A condition that gives 304 beats a Range that cannot be satisfied.")]
    public async Task A_304_beats_416(Site site) => (await site.GetAsync(
        "/text.txt", $"If-None-Match: {await TagAsync(site)}", "Range: bytes=999999-")).Is(304);

    [Theory]
    [Behaviour(Order, 16, "A condition that fails beats Range: 412.")]
    public async Task A_412_beats_range(Site site) =>
        (await site.GetAsync("/text.txt", "If-Match: \"another\"", "Range: bytes=0-4")).Is(412);

    [Theory]
    [Behaviour(Order, 16, "A condition that holds lets Range decide: 206.")]
    public async Task If_match_that_holds_is_followed_by_range(Site site) => (await site.GetAsync(
        "/text.txt", $"If-Match: {await TagAsync(site)}", "Range: bytes=0-4")).IsPart(Site.Files["/text.txt"], 0, 4);

    private static async Task<string> TagAsync(Site site) => (await site.GetAsync("/text.txt")).Is(200).Has("ETag").ETag!;
}
