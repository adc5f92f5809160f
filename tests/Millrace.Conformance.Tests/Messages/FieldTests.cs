using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Messages;

public class FieldTests
{
    private const string Start = "GET /text.txt HTTP/1.1\r\nHost: localhost\r\n";

    [Theory]
    [Behaviour("RFC 9110 5.1", 26, "Field names are case-insensitive.")]
    public async Task Field_names_have_no_case(Site site) =>
        (await site.SendAsync("GET /text.txt HTTP/1.1\r\nhOST: localhost\r\niF-nONE-mATCH: *\r\n\r\n")).Is(304);

    [Theory]
    [Behaviour("RFC 9112 5.1", 26, "White space around a value is not part of it.")]
    public Task White_space_around_a_value_is_dropped(Site site) => Expect.EachAsync(
        ["If-None-Match:*", "If-None-Match:  *", "If-None-Match:\t*", "If-None-Match: * ", "If-None-Match: \t *\t "],
        async line => (await site.SendAsync($"{Start}{line}\r\n\r\n")).Is(304));

    [Theory]
    [Behaviour("RFC 9112 5.1", 26, "White space between a name and its colon is answered with 400.")]
    public Task White_space_before_the_colon_is_400(Site site) => Expect.EachAsync(
        ["X : y", "X\t: y", "Content-Length : 0", "If-None-Match : *"],
        async line => (await site.SendAsync($"{Start}{line}\r\n\r\n")).Is(400));

    [Theory]
    [Behaviour("RFC 9112 5.2", 26, "A folded line is refused with 400, or its fold counts as a space.")]
    public async Task A_folded_line_is_refused_or_joined(Site site) =>
        (await site.SendAsync($"{Start}If-None-Match: \"a\",\r\n *\r\n\r\n")).Is(400, 200, 304);

    [Theory]
    [Behaviour("RFC 9112 5.2", 26, "A folded line is never taken for a field of its own.")]
    public async Task A_folded_line_is_no_field(Site site) =>
        (await site.SendAsync($"{Start}X: y\r\n If-None-Match: *\r\n\r\n")).Is(400, 200);

    [Theory]
    [Behaviour("RFC 9112 5", 26, "A line without a colon is answered with 400.")]
    public async Task A_line_without_a_colon_is_400(Site site) => (await site.SendAsync($"{Start}nonsense\r\n\r\n")).Is(400);

    [Theory]
    [Behaviour(
        "RFC 9110 5.1", 26,
        "A field name that is empty or not a token is answered with 400.",
        NotOnKestrel = "Kestrel takes some names that are no token.")]
    public Task A_name_that_is_no_token_is_400(Site site) => Expect.EachAsync(
        [": y", "a(b): y", "a b: y", "a@b: y", "\"a\": y", "a\x01: y", "na\xefve: y", "[a]: y"],
        async line => (await site.SendAsync($"{Start}{line}\r\n\r\n")).Is(400));

    [Theory]
    [Behaviour("RFC 9110 5.5", 26, "A NUL in a value is refused, or counts as a space.")]
    public async Task A_nul_in_a_value_is_refused_or_a_space(Site site) => (await site.SendAsync($"{Start}X: a\0b\r\n\r\n")).Is(400, 200);

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, 26,
        "Control characters in a value are refused (RFC 9110 5.5 allows keeping them).",
        NotOnKestrel = "Kestrel takes control characters in values.")]
    public Task Control_characters_in_a_value_are_400(Site site) => Expect.EachAsync(
        ["\0", "\x01", "\x0b", "\x1b", "\x7f"],
        async control => (await site.SendAsync($"{Start}X: a{control}b\r\n\r\n")).Is(400));

    [Theory]
    [Behaviour(
        "RFC 9110 5.5", 26,
        "Bytes beyond ASCII in a value are opaque, and accepted.",
        NotOnKestrel = "Kestrel refuses values that are no UTF-8.")]
    public async Task Bytes_beyond_ascii_in_a_value_are_taken(Site site) =>
        (await site.SendAsync($"{Start}X: na\xefve \xff\x80\r\n\r\n")).Is(200);

    [Theory]
    [Behaviour("RFC 9110 5.5", 26, "A value may be empty.")]
    public async Task An_empty_value_is_taken(Site site) => (await site.SendAsync($"{Start}X:\r\nY: \r\n\r\n")).Is(200);

    [Theory]
    [Behaviour("RFC 9110 5.1", 26, "An unknown field is ignored.")]
    public async Task An_unknown_field_is_ignored(Site site) =>
        (await site.SendAsync($"{Start}X-!#$%&'*+-.^_`|~09: \"; drop table\"\r\n\r\n")).Is(200);

    [Theory]
    [Behaviour("RFC 9110 5.4", 27, "A field section of 4,000 bytes is accepted.")]
    public async Task A_field_section_of_4000_bytes_is_taken(Site site) =>
        (await site.GetAsync("/text.txt", $"Cookie: {new string('c', 4000)}")).Is(200);

    [Theory]
    [Behaviour("RFC 9110 5.4", 27, "A field that is too large is answered with a 4xx.")]
    public async Task A_field_that_is_too_large_is_a_clients_error(Site site) =>
        (await site.GetAsync("/text.txt", $"Cookie: {new string('c', 4_000_000)}")).Is(400, 413, 431);

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 27, "A field that is too large is answered with 431 (RFC 6585 5).")]
    public async Task A_field_that_is_too_large_is_431(Site site) =>
        (await site.GetAsync("/text.txt", $"Cookie: {new string('c', 4_000_000)}")).Is(431);

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 27, "Too many fields are answered with 431 (RFC 6585 5).")]
    public async Task Too_many_fields_are_431(Site site)
    {
        string[] fields = [.. Enumerable.Range(0, 100_000).Select(static number => $"X-{number}: {number} of many")];
        (await site.GetAsync("/text.txt", fields)).Is(431);
    }

    [Theory]
    [Behaviour("RFC 9110 7.8", 26, "An Upgrade that is not wanted is ignored.")]
    public async Task An_upgrade_may_be_ignored(Site site) => (await site.GetAsync(
        "/one.txt", "Connection: Upgrade", "Upgrade: something/9")).IsWhole(Site.Files["/one.txt"]);
}
