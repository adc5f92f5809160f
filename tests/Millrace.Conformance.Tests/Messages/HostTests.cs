using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Messages;

public class HostTests
{
    private const string Section = "RFC 9112 3.2";

    [Theory]
    [Behaviour(Section, 25, "An HTTP/1.1 request without Host is answered with 400.")]
    public async Task A_request_without_host_is_400(Site site) => (await site.SendAsync("GET /one.txt HTTP/1.1\r\n\r\n")).Is(400);

    [Theory]
    [Behaviour(Section, 25, "A request with two Host lines is answered with 400.")]
    public async Task Two_hosts_are_400(Site site) =>
        (await site.SendAsync("GET /one.txt HTTP/1.1\r\nHost: localhost\r\nHost: example\r\n\r\n")).Is(400);

    [Theory]
    [Behaviour(Section, 25, "Two Host lines with the same value are refused too.")]
    public async Task The_same_host_twice_is_400(Site site) =>
        (await site.SendAsync("GET /one.txt HTTP/1.1\r\nHost: localhost\r\nX: y\r\nhost: localhost\r\n\r\n")).Is(400);

    [Theory]
    [Behaviour(Section, 25, "A Host that is not a host with an optional port is answered with 400.")]
    public Task A_malformed_host_is_400(Site site) => Expect.EachAsync(
        ["a b", "a/b", "user@localhost", "localhost:80:80", "localhost:port", "[::1", "http://localhost", "local\x01host", "a?b", "a#b"],
        async host => (await site.SendAsync($"GET /one.txt HTTP/1.1\r\nHost: {host}\r\n\r\n")).Is(400));

    [Theory]
    [Behaviour(Section, 25, "A Host is a name, an address or an IPv6 literal, with or without a port, in any case.")]
    public Task A_well_formed_host_is_taken(Site site) => Expect.EachAsync(
        ["localhost", "LOCALHOST", "localhost:8080", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8080", "a.b-c.example"],
        async host => (await site.SendAsync($"GET /one.txt HTTP/1.1\r\nHost: {host}\r\n\r\n")).Is(200));

    [Theory]
    [Behaviour(Section, 25, "HTTP/1.0 needs no Host.")]
    public async Task Http_1_0_needs_no_host(Site site) => (await site.SendAsync("GET /one.txt HTTP/1.0\r\n\r\n")).Is(200);

    [Theory]
    [Behaviour("RFC 9112 3.2.2", 25, "The absolute form of a target is served like its path.")]
    public async Task The_absolute_form_is_served(Site site) =>
        (await site.SendAsync("GET http://localhost/one.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")).IsWhole(Site.Files["/one.txt"]);

    [Theory]
    [Behaviour(
        "RFC 9112 3.2.2", 25,
        "The absolute form's host counts, and Host is ignored.",
        NotOnKestrel = "Kestrel refuses a Host that is another.")]
    public async Task The_absolute_form_beats_host(Site site) =>
        (await site.SendAsync("GET http://localhost/one.txt HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n")).IsWhole(Site.Files["/one.txt"]);

    [Theory]
    [Behaviour("RFC 9112 3.2.1", 25, "An absolute form without a path means /.")]
    public async Task An_absolute_form_without_a_path_is_the_root(Site site) =>
        (await site.SendAsync("GET http://localhost HTTP/1.1\r\nHost: localhost\r\n\r\n")).IsWhole(Site.Files["/index.html"]);

    [Theory]
    [Behaviour(
        "RFC 3986 3.1", 25,
        "The scheme of an absolute form is case-insensitive.",
        NotOnKestrel = "Kestrel compares the authority with Host, and refuses.")]
    public async Task The_scheme_has_no_case(Site site) =>
        (await site.SendAsync("GET HTTP://LOCALHOST/one.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")).IsWhole(Site.Files["/one.txt"]);

    [Theory]
    [Behaviour("RFC 9112 3.2", 25, "A request in absolute form needs a Host too.")]
    public async Task The_absolute_form_needs_a_host_too(Site site) =>
        (await site.SendAsync("GET http://localhost/one.txt HTTP/1.1\r\n\r\n")).Is(400);

    [Theory]
    [Behaviour("RFC 9112 3.2.2", 12, "An absolute form is no way out of the root.")]
    public Task An_absolute_form_stays_inside(Site site) => Expect.EachAsync(
        ["http://localhost/../outside/secret.txt", "http://localhost/%2e%2e/outside/secret.txt", "http://../outside/secret.txt"],
        async target =>
        {
            Response response = await site.SendAsync($"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            Expect.That(!response.Text.Contains(Fixture.Secret, StringComparison.Ordinal), "served a file outside of the root");
            response.Is(400, 403, 404);
        });

    [Theory]
    [Behaviour(
        "RFC 9112 3.2.3", 25,
        "The authority form is for CONNECT only.",
        NotOnKestrel = "Kestrel answers 405.")]
    public async Task The_authority_form_is_400(Site site) =>
        (await site.SendAsync("GET localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n")).Is(400);

    [Theory]
    [Behaviour(
        "RFC 9112 3.2.4", 25,
        "The asterisk form is for OPTIONS only.",
        NotOnKestrel = "Kestrel answers 405.")]
    public async Task The_asterisk_form_is_400_for_get(Site site) =>
        (await site.SendAsync("GET * HTTP/1.1\r\nHost: localhost\r\n\r\n")).Is(400, 404);

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 25, "OPTIONS * is answered with success.")]
    public async Task Options_asterisk_succeeds(Site site) => (await site.AskAsync("OPTIONS", "*")).Is(200, 204);

    [Theory]
    [Behaviour(
        "RFC 9110 9.3.6", 27,
        "A server that is not a proxy refuses CONNECT.",
        NotOnKestrel = "A tunnel is for the application to give or refuse.")]
    public async Task Connect_is_refused(Site site) =>
        (await site.SendAsync("CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n")).Is(400, 405, 501);
}
