using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Paths;

/// <summary>
/// No way of writing a path leads out of the root. Outside lie <c>../outside/secret.txt</c> and a folder whose
/// name begins with the root's.
/// </summary>
public class TraversalTests
{
    private const string Section = "RFC 9110 17.3";

    [Theory]
    [Behaviour(Section, 12, "Dot segments do not lead out of the root.")]
    public Task Dot_segments_stay_inside(Site site) => StaysInsideAsync(site, DotDots(".."));

    [Theory]
    [Behaviour(Section, 12, "Escaped dot segments do not lead out of the root.")]
    public Task Escaped_dot_segments_stay_inside(Site site) =>
        StaysInsideAsync(site, [.. DotDots("%2e%2e"), .. DotDots(".%2e"), .. DotDots("%2E."), .. DotDots("%2E%2e")]);

    [Theory]
    [Behaviour(Section, 12, "Escaped slashes do not lead out of the root.")]
    public Task Escaped_slashes_stay_inside(Site site) => StaysInsideAsync(
        site,
        ["/..%2foutside/secret.txt", "/..%2Foutside%2Fsecret.txt", "/%2e%2e%2foutside%2fsecret.txt", "/dir/..%2f..%2foutside/secret.txt",
            "/dir%2f..%2f..%2foutside%2fsecret.txt", "/%2f..%2foutside/secret.txt"]);

    [Theory]
    [Behaviour(Section, 12, "Paths that are escaped twice do not lead out of the root.")]
    public Task Double_escapes_stay_inside(Site site) => StaysInsideAsync(
        site, [.. DotDots("%252e%252e"), "/..%252foutside/secret.txt", "/%25252e%25252e/outside/secret.txt",
            "/%%32%65%%32%65/outside/secret.txt"]);

    [Theory]
    [Behaviour(Section, 12, "Backslashes do not lead out of the root.")]
    public Task Backslashes_stay_inside(Site site) => StaysInsideAsync(
        site,
        ["/..\\outside\\secret.txt", "/..%5coutside%5csecret.txt", "/..%5Coutside/secret.txt", "/%2e%2e%5coutside%5csecret.txt",
            "\\..\\outside"]);

    [Theory]
    [Behaviour(Section, 12, "Overlong and other bad UTF-8 does not lead out of the root.")]
    public Task Bad_utf_8_stays_inside(Site site) => StaysInsideAsync(
        site,
        ["/%c0%ae%c0%ae/outside/secret.txt", "/%e0%80%ae%e0%80%ae/outside/secret.txt", "/..%c0%afoutside/secret.txt",
            "/..%c1%9coutside/secret.txt", "/%uff0e%uff0e/outside/secret.txt", "/%ef%bc%8e%ef%bc%8e/outside/secret.txt"]);

    [Theory]
    [Behaviour(Section, 12, "NUL, line ends and parameters do not lead out of the root.")]
    public Task Control_characters_stay_inside(Site site) => StaysInsideAsync(
        site,
        ["/..%00/outside/secret.txt", "/%00../outside/secret.txt", "/..%0a/outside/secret.txt", "/..;/outside/secret.txt",
            "/..;a=b/outside/secret.txt", "/..%20/outside/secret.txt", "/..%09/outside/secret.txt", "/.%00./outside/secret.txt"]);

    [Theory]
    [Behaviour(Section, 12, "Other sequences of dots do not lead out of the root.")]
    public Task Other_dots_stay_inside(Site site) => StaysInsideAsync(
        site,
        ["/.../outside/secret.txt", "/..../outside/secret.txt", "/....//outside/secret.txt", "/./../outside/secret.txt",
            "/.//..//outside/secret.txt",
            "/.././outside/secret.txt", "//../outside/secret.txt", "/..//outside/secret.txt", "/dir/../..//outside/secret.txt"]);

    [Theory]
    [Behaviour(Section, 12, "Absolute paths of the system are below the root like all others.")]
    public Task Absolute_paths_stay_inside(Site site) => StaysInsideAsync(
        site,
        ["//etc/passwd", "/%2fetc/passwd", "/%2Fetc%2Fpasswd", "/etc/passwd", "file:///etc/passwd", "/dir//etc/passwd",
            "/proc/self/environ",
            "/" + string.Concat(Enumerable.Repeat("../", 20)) + "etc/passwd"]);

    [Theory]
    [Behaviour(Section, 12, "A folder beside the root whose name begins like the root's cannot be reached.")]
    public async Task A_twin_of_the_root_is_out_of_reach(Site site)
    {
        string root = Path.GetFileName(Site.Files.Root);
        await StaysInsideAsync(site, [$"/../{root}-twin/secret.txt", $"/%2e%2e/{root}-twin/secret.txt", $"/..%2f{root}-twin%2fsecret.txt"]);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 12, "A path above the root is answered with 400 or 404.")]
    public Task A_path_above_the_root_is_refused(Site site) => Expect.EachAsync(
        ["/..", "/../", "/../one.txt", "/dir/../../one.txt", "/%2e%2e/one.txt"],
        async target => (await site.GetAsync(target)).Is(400, 404));

    [Theory]
    [Behaviour("RFC 3986 5.2.4", 12, "Dot segments within the root are resolved or refused.")]
    public Task Dot_segments_within_the_root_are_resolved_or_refused(Site site) => Expect.EachAsync(
        ["/dir/../one.txt", "/./one.txt", "/dir/./../one.txt", "/dir/%2e%2e/one.txt"],
        async target =>
        {
            Response response = (await site.GetAsync(target)).Is(200, 301, 302, 307, 308, 400, 404);
            if (response.Status == 200)
            {
                response.IsWhole(Site.Files["/one.txt"]);
            }
        });

    [Theory]
    [Behaviour(Section, 12, "A query does not lead out of the root.")]
    public Task A_query_stays_inside(Site site) => StaysInsideAsync(
        site, ["/?../outside/secret.txt", "/one.txt?/../../outside/secret.txt", "/dir/?file=../../outside/secret.txt",
            "/?/../outside/secret.txt"]);

    private static string[] DotDots(string up) =>
    [
        $"/{up}/outside/secret.txt", $"/dir/{up}/{up}/outside/secret.txt", $"/one.txt/{up}/{up}/outside/secret.txt",
        $"/missing/{up}/{up}/outside/secret.txt", $"/{up}/{up}/{up}/{up}/{up}/{up}/{up}/{up}/etc/passwd",
            $"/{up}/site/{up}/outside/secret.txt",
        $"/{up}", $"/{up}/", $"/dir/{up}/{up}/", $"/link-dir/{up}/{up}/outside/secret.txt",
    ];

    private static Task StaysInsideAsync(Site site, string[] targets) => Expect.EachAsync(targets, async target =>
    {
        Response response = await site.GetAsync(target);
        string[] outside = [Fixture.Secret, "root:x:", "site-twin"];
        bool isOutside = outside.Any(text => response.Text.Contains(text, StringComparison.Ordinal));
        Expect.That(!isOutside, "served what is outside of the root");
        response.Is(200, 301, 302, 307, 308, 400, 403, 404);
        Expect.That(response.Status != 200 || Site.Files.Holds(response.Body), "200 with a body that is no file of the root");
    });
}
