using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Paths;

/// <summary>Whom a request is for: its scheme and its host, in every version.</summary>
public class OriginTests
{
    [Theory]
    [Behaviour(
        "RFC 9110 7.4", 25,
        "A request for an https resource over a connection without TLS is answered with 421.",
        NotOnKestrel = "Kestrel takes the scheme of its connection.")]
    public Task An_https_resource_is_misdirected_without_tls(Site site) => Expect.EachAsync(
        ["https://localhost/one.txt", "https://localhost/missing.txt", "https://localhost"],
        async target =>
        {
            Response response = await site.SendAsync($"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            if (Fronts.IsTls(site.Front))
            {
                response.Is(200, 404);
            }
            else
            {
                response.Is(421);
            }
        });

    [Theory]
    [Behaviour(
        "RFC 9110 7.2", 25,
        "A Host or :authority that is not a name, an address or a port is answered with 400 in every version.")]
    public Task What_is_not_a_host_is_400(Site site) => Expect.EachAsync(
        ["localhost:99999", "localhost:65536", "..a", ".a", "a..b", "a..", ".", "[::1]:70000", "user@localhost",
            new string('a', 64) + ".example"],
        async host => (await site.SendAsync($"GET /one.txt HTTP/1.1\r\nHost: {host}\r\n\r\n")).Is(400));

    [Theory]
    [Behaviour("RFC 9110 7.2", 25, "A Host may have a final dot, leading zeros in its port, and any valid port.")]
    public Task What_is_a_host_is_taken(Site site) => Expect.EachAsync(
        ["localhost.", "localhost:65535", "localhost:00080", "a_b.example", new string('a', 63) + ".example"],
        async host => (await site.SendAsync($"GET /one.txt HTTP/1.1\r\nHost: {host}\r\n\r\n")).IsWhole(Site.Files["/one.txt"]));

    [Theory]
    [Behaviour(
        BehaviourAttribute.Choice, 25,
        "An empty Host and an empty :authority are alike: a client that has no name for the server is served.")]
    public async Task An_empty_host_is_taken(Site site)
    {
        Response response = await site.SendAsync("GET /one.txt HTTP/1.1\r\nHost: \r\n\r\n");
        if (Fronts.IsHttp3(site.Front) && Fronts.BackendOf(site.Front) != Fronts.Kestrel)
        {
            // RFC 9114, section 4.3.1: it must not be empty. Kestrel takes it.
            response.Is(400);
            return;
        }

        response.IsWhole(Site.Files["/one.txt"]);
    }

    [Theory]
    [Behaviour(
        "RFC 9112 3", 27,
        "A method longer than a request line may be is answered with 501 in every version.",
        NotOnKestrel = "Kestrel answers 414.")]
    public async Task A_method_longer_than_any_line_is_501(Site site) =>
        (await site.SendAsync($"{new string('M', 9_000)} /one.txt HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET")).Is(501);
}
