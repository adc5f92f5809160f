using System.Text;
using Millrace.Fuzz.Tests.Kit;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Lines of <c>_redirects</c>, each read by itself, then all of them as a file.</summary>
internal sealed class RedirectsFileTarget : FuzzTarget
{
    public override string Name => "redirects-file";

    public override int InputBytesMax => 512;

    public override int OutcomesMin => 6;

    public override IReadOnlyList<string> Words =>
    [
        "/a ", "/a/* ", "/:x ", "/b/:splat", "https://h/:x", "http://", "//e", "/\\e", " 301", " 302!", " 200", " 404", " 999",
        " id=:id", " a=b", "?q=1&r=2", " # c", "Country=de", "\n", "\t", "%20", "%00", "%", "#f", "é",
    ];

    public override byte[] Generate(Random random)
    {
        IEnumerable<string> lines = Enumerable.Range(0, random.Next(1, 4)).Select(_ =>
            random.Pick("/a", "/a/*", "/:x/y", "/s?id=:id", "https://h/a") + random.Pick(" ", "\t", "  ")
            + random.Pick("/b", "/:splat", "https://o/:x", "id=:id /p/:id", "")
            + random.Pick("", " 301", " 302!", " 200", " 404", " 410 # gone", " Country=de"));
        return Latin1.Bytes(string.Join('\n', lines));
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        int rules = 0;
        foreach (string line in Latin1.Text(input).Split('\n'))
        {
            string text = Encoding.UTF8.GetString(Latin1.Bytes(line));
            RedirectRule? rule = null;
            bool isRead = Refusal.Of(() => rule = RedirectsFile.ParseLine(text, 301)) is null;
            string? expected = ReferenceRedirectLine.Read(text, 301);
            Agree(expected ?? "none", isRead ? Describe(rule!) : "none", $"line '{text}'");
            rules += isRead ? 1 : 0;
        }

        var routes = new List<Route>();
        List<string> warnings = RedirectsFile.Parse(input, routes, new AllowedUpstreams(new SiteOptions { Root = "/" }));
        Require(warnings.TrueForAll(warning => warning.StartsWith("_redirects:", StringComparison.Ordinal)), "a warning without its line");
        return $"{Math.Min(rules, 3)} {Math.Min(routes.Count, 3)} {Math.Min(warnings.Count, 2)}";
    }

    private static string Describe(RedirectRule rule) =>
        $"{rule.From} {string.Join('&', rule.Query.Select(demand => $"{demand.Name}={demand.Value}"))} {rule.To} {rule.Status} {rule.Forced}";
}
