using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Messages;

public class RequestLineTests
{
    private const string Host = "Host: localhost\r\n";

    [Theory]
    [Behaviour("RFC 9112 4", 25, "A response begins with HTTP/1.1, three digits, a space.")]
    public async Task A_response_begins_with_a_status_line(Site site)
    {
        Response response = (await site.GetAsync("/text.txt")).Is(200);
        Expect.That(response.StatusLine.StartsWith("HTTP/1.1 200 ", StringComparison.Ordinal), response.StatusLine);
    }

    [Theory]
    [Behaviour("RFC 9112 2.2", 26, "An empty line before the request line is skipped.")]
    public async Task An_empty_line_before_the_request_is_skipped(Site site) =>
        (await site.SendAsync("\r\n" + Site.Request("GET", "/one.txt"))).Is(200);

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, 26,
        "A line that ends in a bare LF is refused (RFC 9112 2.2 allows both).",
        NotOnKestrel = "Kestrel takes a bare LF.")]
    public async Task A_bare_lf_is_refused(Site site) => (await site.SendAsync("GET /one.txt HTTP/1.1\nHost: localhost\n\n")).Is(400);

    [Theory]
    [Behaviour("RFC 9112 2.2", 26, "A bare CR ends no line: the request is refused, or the CR counts as a space.")]
    public async Task A_bare_cr_ends_no_line(Site site) =>
        (await site.SendAsync($"GET /text.txt HTTP/1.1\r\n{Host}X: a\rIf-None-Match: *\r\n\r\n")).Is(400, 200);

    [Theory]
    [Behaviour("RFC 9112 2.2", 26, "A bare CR in the request line is refused.")]
    public async Task A_bare_cr_in_the_request_line_is_refused(Site site) =>
        (await site.SendAsync($"GET /text.txt\r HTTP/1.1\r\n{Host}\r\n")).Is(400);

    [Theory]
    [Behaviour("RFC 9112 2.2", 26, "A line that begins with a space after the request line is refused or skipped.")]
    public async Task White_space_after_the_request_line_is_no_field(Site site) =>
        (await site.SendAsync($"GET /text.txt HTTP/1.1\r\n If-None-Match: *\r\n{Host}\r\n")).Is(400, 200);

    [Theory]
    [Behaviour("RFC 9112 3", 25, "A request line without a version is refused: HTTP/0.9 is gone.")]
    public async Task Http_0_9_is_refused(Site site) => (await site.SendAsync("GET /one.txt\r\n\r\n")).Is(400, 505);

    [Theory]
    [Behaviour(
        "RFC 9110 2.5", 25,
        "A higher minor version than 1.1 is answered as 1.1.",
        NotOnKestrel = "Kestrel answers 505.")]
    public async Task Http_1_2_is_answered_as_1_1(Site site) => (await site.SendAsync($"GET /one.txt HTTP/1.2\r\n{Host}\r\n")).Is(200);

    [Theory]
    [Behaviour("RFC 9110 15.6.6", 25, "A major version that is not supported is answered with 505.")]
    public async Task Http_2_0_in_a_request_line_is_505(Site site) =>
        (await site.SendAsync($"GET /one.txt HTTP/2.0\r\n{Host}\r\n")).Is(505);

    [Theory]
    [Behaviour("RFC 9112 2.3", 25, "The version is HTTP/ in capitals, a digit, a dot and a digit: anything else is refused.")]
    public Task A_malformed_version_is_refused(Site site) => Expect.EachAsync(
        ["http/1.1", "HTTP/1", "HTTP/1.", "HTTP/11", "HTTP/1.1x", "HTTP/1.10", "HTTP /1.1", "HTTPS/1.1", "HTTP/a.1", "HTTP/1,1"],
        async version => (await site.SendAsync($"GET /one.txt {version}\r\n{Host}\r\n")).Is(400, 505));

    [Theory]
    [Behaviour("RFC 9112 3.1", 27, "The method is case-sensitive: get is not GET.")]
    public async Task A_method_in_lower_case_is_unknown(Site site) =>
        (await site.SendAsync($"get /one.txt HTTP/1.1\r\n{Host}\r\n")).Is(501, 405, 400);

    [Theory]
    [Behaviour("RFC 9112 3.1", 26, "A method that is not a token is refused.")]
    public Task A_method_that_is_no_token_is_refused(Site site) => Expect.EachAsync(
        ["GE(T", "G@T", "GET:", "\"GET\"", "G\x01T", "G\xC4T"],
        async method => (await site.SendAsync($"{method} /one.txt HTTP/1.1\r\n{Host}\r\n")).Is(400, 501, 405));

    [Theory]
    [Behaviour("RFC 9112 3.2", 13, "A target with white space in it is refused.")]
    public Task White_space_in_a_target_is_refused(Site site) => Expect.EachAsync(
        ["/one txt", "/one.txt x", "/one\ttxt", "/names/with space.txt"],
        async target => (await site.SendAsync($"GET {target} HTTP/1.1\r\n{Host}\r\n")).Is(400));

    [Theory]
    [Behaviour("RFC 9112 3.2", 13, "A target with control characters in it is refused.")]
    public Task Control_characters_in_a_target_are_refused(Site site) => Expect.EachAsync(
        ["/one.txt\x01", "/\x00one.txt", "/one\x7f.txt", "/one.txt?\x1b", "/one\v.txt"],
        async target => (await site.SendAsync($"GET {target} HTTP/1.1\r\n{Host}\r\n")).Is(400));

    [Theory]
    [Behaviour(
        "RFC 9112 3.2", 13,
        "A target without its slash is refused.",
        NotOnKestrel = "Kestrel answers 405.")]
    public async Task A_target_without_a_slash_is_refused(Site site) =>
        (await site.SendAsync($"GET one.txt HTTP/1.1\r\n{Host}\r\n")).Is(400);

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 13, "A target with a fragment is refused: RFC 9112 3.2.1 has no room for one.")]
    public async Task A_fragment_in_a_target_is_refused(Site site) =>
        (await site.SendAsync($"GET /one.txt#top HTTP/1.1\r\n{Host}\r\n")).Is(400);

    [Theory]
    [Behaviour("RFC 9112 3.2", 12, "A byte beyond ASCII in a target is refused or served, and never causes a 5xx.")]
    public Task A_raw_byte_beyond_ascii_is_no_server_error(Site site) => Expect.EachAsync(
        ["/names/na\xc3\xafve-\xc3\xbc" + "ber.txt", "/\xff", "/\xc0\xae\xc0\xae/outside/secret.txt"],
        async target => (await site.SendAsync($"GET {target} HTTP/1.1\r\n{Host}\r\n")).Is(200, 400, 404));

    [Theory]
    [Behaviour("RFC 9112 3", 27, "A request line of 8,000 bytes is accepted.")]
    public async Task A_target_of_8000_bytes_is_taken(Site site)
    {
        string query = new('q', 8000 - "GET /one.txt? HTTP/1.1".Length);
        (await site.SendAsync($"GET /one.txt?{query} HTTP/1.1\r\n{Host}\r\n")).Is(200);
    }

    [Theory]
    [Behaviour("RFC 9110 15.5.15", 27, "A target that is too long is answered with 414.")]
    public async Task A_target_that_is_too_long_is_414(Site site) =>
        (await site.SendAsync($"GET /{new string('a', 200_000)} HTTP/1.1\r\n{Host}\r\n")).Is(414);

    [Theory]
    [Behaviour("RFC 9112 3", 27, "A method longer than any that is known is answered with 501.")]
    public async Task A_method_of_a_hundred_letters_is_501(Site site) =>
        (await site.SendAsync($"{new string('M', 100)} /one.txt HTTP/1.1\r\n{Host}\r\n")).Is(501);

    [Theory]
    [Behaviour(
        "RFC 9112 3", 27,
        "A method that fills the whole line is answered with 501; 414 is for targets.",
        NotOnKestrel = "Kestrel answers 414.")]
    public async Task A_method_longer_than_the_line_may_be_is_501(Site site)
    {
        (await site.SendAsync($"{new string('M', 9_000)} /one.txt HTTP/1.1\r\n{Host}\r\n")).Is(501);
        (await site.SendAsync($"{new string('M', 40_000)} /one.txt HTTP/1.1\r\n{Host}\r\n")).Is(501);
    }

    [Theory]
    [Behaviour("RFC 9112 3", 26, "A request line that makes no sense is answered with 400.")]
    public Task Nonsense_is_400(Site site) => Expect.EachAsync(
        ["hello", "GET", "GET ", "\x16\x03\x01\x02", "GET\t", "/one.txt"],
        async line => (await site.SendAsync($"{line}\r\n{Host}\r\n")).Is(400, 501, 505));
}
