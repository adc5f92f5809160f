using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Methods;

public class MethodTests
{
    [Theory]
    [Behaviour("RFC 9110 9.3.1", 24, "GET of a file is answered with 200, its length and its bytes.")]
    public async Task Get_is_answered_with_the_file(Site site) => (await site.GetAsync("/text.txt")).IsWhole(Site.Files["/text.txt"]);

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 27, "OPTIONS of a file succeeds and lists the methods in Allow.")]
    public async Task Options_lists_the_methods(Site site)
    {
        Response response = (await site.AskAsync("OPTIONS", "/text.txt")).Is(200, 204).Has("Allow");
        Expect.That(response.Lists("Allow", "GET") && response.Lists("Allow", "HEAD"), $"Allow: {response["Allow"]}");
    }

    [Theory]
    [Behaviour("RFC 9110 9.3.7", 27, "OPTIONS without content says so by its length, or is a 204.")]
    public async Task Options_has_an_end(Site site)
    {
        Response response = await site.AskAsync("OPTIONS", "/text.txt");
        Expect.That(response.Status == 204 || response.Framing != Framing.Close, $"{response.Status} without a length");
    }

    [Theory]
    [Behaviour("RFC 9110 8.6", 27, "A 204 has neither Content-Length nor Transfer-Encoding.")]
    public Task A_204_has_no_length(Site site) => Expect.EachAsync(["*", "/text.txt", "/"], async target =>
    {
        Response response = await site.AskAsync("OPTIONS", target);
        if (response.Status == 204)
        {
            response.Lacks("Content-Length").Lacks("Transfer-Encoding");
        }
    });

    [Theory]
    [Behaviour("RFC 9110 15.5.6", 27, "A method that a file does not take is answered with 405.")]
    public Task A_method_that_is_not_allowed_is_405(Site site) => Expect.EachAsync(
        ["POST", "PUT", "DELETE", "PATCH"],
        async method => (await site.AskAsync(method, "/text.txt", "Content-Length: 0")).Is(405));

    [Theory]
    [Behaviour("RFC 9110 15.5.6", 27, "A 405 lists the methods that are allowed in Allow.")]
    public Task A_405_has_allow(Site site) => Expect.EachAsync(["POST", "PUT", "DELETE", "PATCH"], async method =>
    {
        Response response = (await site.AskAsync(method, "/text.txt", "Content-Length: 0")).Is(405).Has("Allow");
        Expect.That(response.Lists("Allow", "GET") && response.Lists("Allow", "HEAD"), $"Allow: {response["Allow"]}");
        Expect.That(!response.Lists("Allow", method), $"Allow: {response["Allow"]}");
    });

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 27, "OPTIONS and 405 list the same methods.")]
    public async Task Options_and_405_agree(Site site)
    {
        Response options = (await site.AskAsync("OPTIONS", "/text.txt")).Is(200, 204).Has("Allow");
        Response refusal = (await site.AskAsync("DELETE", "/text.txt")).Is(405).Has("Allow");
        Expect.Equal(options["Allow"], refusal["Allow"], "Allow of the 405");
    }

    [Theory]
    [Behaviour("RFC 9110 15.5.6", 27, "A directory takes no POST either.")]
    public async Task A_post_to_a_directory_is_405(Site site) => (await site.AskAsync("POST", "/", "Content-Length: 0")).Is(405);

    [Theory]
    [Behaviour("RFC 9110 9.3.8", 27, "TRACE is not answered with the request.")]
    public async Task Trace_echoes_nothing(Site site)
    {
        Response response = (await site.AskAsync("TRACE", "/text.txt", "Cookie: hush")).Is(405, 501);
        Expect.That(!response.Text.Contains("hush", StringComparison.Ordinal), "echoed the request");
    }

    [Theory]
    [Behaviour("RFC 9110 9.1", 27, "An unknown method is answered with 501.")]
    public async Task An_unknown_method_is_501(Site site) => (await site.AskAsync("BREW", "/text.txt")).Is(501);

    [Theory]
    [Behaviour("RFC 9110 13.2.1", 16, "Preconditions are ignored where the method is refused.")]
    public Task A_405_ignores_preconditions(Site site) => Expect.EachAsync(
        ["If-Match: \"x\"", "If-None-Match: *", "If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT"],
        async field => (await site.AskAsync("POST", "/text.txt", "Content-Length: 0", field)).Is(405));

    [Theory]
    [Behaviour("RFC 9110 14.2", 20, "A Range with another method than GET is ignored.")]
    public async Task A_405_ignores_ranges(Site site) =>
        (await site.AskAsync("POST", "/text.txt", "Content-Length: 0", "Range: bytes=0-0")).Is(200, 403, 405, 501).Lacks("Content-Range");
}
