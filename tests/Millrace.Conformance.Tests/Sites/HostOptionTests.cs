using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Sites;

/// <summary>--host NAME=FOLDER: several sites after one address.</summary>
public class HostOptionTests
{
    private const int Group = 29;

    [Theory]
    [Behaviour(
        "RFC 9110 7.2", Group,
        "--host NAME=FOLDER: the requested host selects the site; case and port are ignored.",
        NotOnKestrel = "Hosts are branches of the application.")]
    public Task A_host_has_its_own_site(Site site) => Expect.EachAsync(
        ["files.example", "FILES.Example", "files.example:8080", "files.example."],
        async host => (await AskAsync(site, "/one.txt", host)).Is(200).Has("X-All", "yes"));

    [Theory]
    [Behaviour(
        "RFC 9110 7.2", Group,
        "--host: every other host has the site of ROOT.",
        NotOnKestrel = "Hosts are branches of the application.")]
    public async Task Other_hosts_have_the_first_site(Site site) =>
        (await AskAsync(site, "/text.txt", "other.example")).IsWhole(Site.Files["/text.txt"]);

    [Theory]
    [Behaviour(
        "RFC 9112 3.2.2", Group,
        "--host: the host of an absolute form counts.",
        NotOnKestrel = "Hosts are branches of the application.")]
    public async Task The_host_of_an_absolute_form_counts(Site site) =>
        (await AskAsync(site, "http://files.example/one.txt", "other.example")).Is(200).Has("X-All", "yes");

    [Theory]
    [Behaviour(
        "RFC 5890 2.3.2.1", Group,
        "--host with an international name: the host that clients send is its A-label.",
        NotOnKestrel = "Hosts are branches of the application.")]
    public Task An_international_host_is_found_by_its_a_label(Site site) => Expect.EachAsync(
        ["xn--bcher-kva.example", "XN--BCHER-KVA.example:8080"],
        async host => (await site.With("--site-files", "on", "--host", $"b\u00FCcher.example={Site.Files.PathOf("/sites/files")}")
            .SendAsync($"GET /one.txt HTTP/1.1\r\nHost: {host}\r\n\r\n")).Is(200).Has("X-All", "yes"));

    private static Task<Response> AskAsync(Site site, string target, string host) =>
        site.With("--site-files", "on", "--host", $"files.example={Site.Files.PathOf("/sites/files")}")
            .SendAsync($"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
}
