using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Conditions;

public class IfNoneMatchTests
{
    private const string Section = "RFC 9110 13.1.2";

    [Theory]
    [Behaviour(Section, 16, "If-None-Match with the current entity-tag is answered with 304.")]
    public async Task If_none_match_with_the_current_tag_is_304(Site site) =>
        (await site.GetAsync("/text.txt", $"If-None-Match: {await TagAsync(site)}")).Is(304);

    [Theory]
    [Behaviour(Section, 16, "If-None-Match compares weakly: W/\"x\" matches \"x\".")]
    public async Task If_none_match_uses_weak_comparison(Site site) =>
        (await site.GetAsync("/text.txt", $"If-None-Match: W/{await TagAsync(site)}")).Is(304);

    [Theory]
    [Behaviour(Section, 16, "If-None-Match matches any member of its list.")]
    public async Task If_none_match_takes_a_list(Site site) =>
        (await site.GetAsync("/text.txt", $"If-None-Match: \"a\", W/\"b,c\" ,{await TagAsync(site)} , \"d\"")).Is(304);

    [Theory]
    [Behaviour("RFC 9110 5.6.1.2", 16, "Empty list elements are ignored.")]
    public async Task If_none_match_ignores_empty_list_elements(Site site) =>
        (await site.GetAsync("/text.txt", $"If-None-Match: ,, \"a\",, {await TagAsync(site)},")).Is(304);

    [Theory]
    [Behaviour("RFC 9110 5.3", 16, "Several lines of a list field count as one list.")]
    public async Task If_none_match_lines_are_joined(Site site) =>
        (await site.GetAsync("/text.txt", "If-None-Match: \"a\"", $"If-None-Match: {await TagAsync(site)}")).Is(304);

    [Theory]
    [Behaviour(Section, 16, "If-None-Match: * matches every existing representation.")]
    public async Task If_none_match_star_is_304(Site site) => (await site.GetAsync("/text.txt", "If-None-Match: *")).Is(304);

    [Theory]
    [Behaviour(Section, 16, "If-None-Match with another entity-tag is answered with the whole file.")]
    public async Task If_none_match_with_another_tag_is_200(Site site) =>
        (await site.GetAsync("/text.txt", "If-None-Match: \"another\"")).IsWhole(Site.Files["/text.txt"]);

    [Theory]
    [Behaviour("RFC 9110 8.8.3", 16, "\"*\" in quotes is an entity-tag, not the star.")]
    public async Task A_quoted_star_is_no_star(Site site) => (await site.GetAsync("/text.txt", "If-None-Match: \"*\"")).Is(200);

    [Theory]
    [Behaviour("RFC 9110 8.8.3.2", 16, "Entity-tags are compared whole, character by character.")]
    public async Task A_part_of_a_tag_does_not_match(Site site)
    {
        string tag = await TagAsync(site);
        string opaque = tag[1..^1];
        await Expect.EachAsync(
            [opaque, $"\"{opaque}x\"", $"\"x{opaque}\"", $"\"{opaque[1..]}\"", $"\"x,{tag[..^1]},x\""],
            async one => (await site.GetAsync("/text.txt", $"If-None-Match: {one}")).Is(200));
    }

    [Theory]
    [Behaviour(Section, 16, "An empty If-None-Match matches nothing.")]
    public async Task An_empty_if_none_match_is_200(Site site) => (await site.GetAsync("/text.txt", "If-None-Match:")).Is(200);

    [Theory]
    [Behaviour(Section, 16, "If-None-Match takes a list of a hundred entity-tags.")]
    public async Task If_none_match_takes_a_long_list(Site site)
    {
        string list = string.Join(", ", Enumerable.Range(0, 100).Select(static number => $"\"tag-{number}\""));
        (await site.GetAsync("/text.txt", $"If-None-Match: {list}, {await TagAsync(site)}")).Is(304);
    }

    [Theory]
    [Behaviour(Section, 16, "HEAD with a matching If-None-Match is answered with 304.")]
    public async Task If_none_match_applies_to_head(Site site) =>
        (await site.HeadAsync("/text.txt", $"If-None-Match: {await TagAsync(site)}")).Is(304);

    [Theory]
    [Behaviour("RFC 9110 13.1.3", 16, "With If-None-Match, If-Modified-Since is ignored: another tag and the current date give 200.")]
    public async Task If_none_match_that_fails_beats_if_modified_since(Site site) =>
        (await site.GetAsync("/text.txt", "If-None-Match: \"another\"", $"If-Modified-Since: {Fixture.Modified:R}")).Is(200);

    [Theory]
    [Behaviour("RFC 9110 13.1.3", 16, "With If-None-Match, If-Modified-Since is ignored: the current tag and an older date give 304.")]
    public async Task If_none_match_that_matches_beats_if_modified_since(Site site) =>
        (await site.GetAsync(
            "/text.txt",
            $"If-None-Match: {await TagAsync(site)}",
            $"If-Modified-Since: {Fixture.Modified.AddDays(-1):R}")).Is(304);

    [Theory]
    [Behaviour("RFC 9110 13.2.1", 16, "If-None-Match: * on what does not exist is ignored: 404.")]
    public async Task If_none_match_is_ignored_where_nothing_is_found(Site site) =>
        (await site.GetAsync("/missing.txt", "If-None-Match: *")).Is(404);

    [Theory]
    [Behaviour("RFC 9110 13.2.1", 15, "Preconditions are ignored where the response is a redirect.")]
    public async Task If_none_match_is_ignored_on_a_redirect(Site site) =>
        (await site.GetAsync("/dir", "If-None-Match: *")).Is(301, 302, 307, 308);

    private static async Task<string> TagAsync(Site site) => (await site.GetAsync("/text.txt")).Is(200).Has("ETag").ETag!;
}
