using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Negotiation;

public class VaryTests
{
    private const string Section = "RFC 9110 12.5.5";

    [Theory]
    [Behaviour(Section, 23, "A coded response has Vary: Accept-Encoding.")]
    public async Task A_coded_response_varies(Site site) => (await site.GetAsync("/app.js", "Accept-Encoding: gzip")).Is(200).Varies();

    [Theory]
    [Behaviour(Section, 23, "The plain response of a file with siblings has Vary too, with and without Accept-Encoding.")]
    public Task A_plain_response_varies(Site site) => Expect.EachAsync(
        ["Accept-Encoding: identity", "Accept-Encoding:", "X: y"],
        async field => (await site.GetAsync("/app.js", field)).Is(200).Varies());

    [Theory]
    [Behaviour(Section, 23, "HEAD of a file with siblings has Vary: Accept-Encoding.")]
    public async Task A_head_varies(Site site) => (await site.HeadAsync("/app.js", "Accept-Encoding: gzip")).Is(200).Varies();

    [Theory]
    [Behaviour("RFC 9110 15.4.5", 17, "A 304 of a file with siblings has Vary: Accept-Encoding.")]
    public Task A_304_varies(Site site) => Expect.EachAsync(
        ["Accept-Encoding: gzip", "X: y"],
        async field => (await site.GetAsync("/app.js", field, "If-None-Match: *")).Is(304).Varies());

    [Theory]
    [Behaviour("RFC 9110 15.3.7", 23, "The response to a Range of a file with siblings has Vary: Accept-Encoding.")]
    public Task A_206_varies(Site site) => Expect.EachAsync(
        ["Accept-Encoding: gzip", "X: y"],
        async field => (await site.GetAsync("/app.js", field, "Range: bytes=0-9")).Is(200, 206).Varies());

    [Theory]
    [Behaviour(Section, 23, "An index page with siblings has Vary: Accept-Encoding.")]
    public async Task An_index_page_varies(Site site) => (await site.GetAsync("/coded/")).Is(200).Varies();
}
