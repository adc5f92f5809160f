using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using Millrace.Fuzz.Tests.Kit;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>
/// A site's redirects, applied: the first line is what is asked for, <c>/path?query</c> decoded, the others are the file. Whoever is
/// asked, no response leads to a host that no rule names, ends its line, or names a file by dots.
/// </summary>
internal sealed partial class RouteTarget : FuzzTarget
{
    private static readonly SiteOptions Options = new() { Root = "/" };

    private readonly GuardedMemory _scratch = new(4096);

    public override string Name => "route";

    public override int InputBytesMax => 512;

    public override int OutcomesMin => 4;

    public override IReadOnlyList<string> Words =>
    [
        "/a\n", "/a/b?id=1\n", "/* /:splat\n", "/a/* /:splat 302\n", "/:x https://o.example/:x\n", "/s id=:id /:id\n",
        "/* /b/:splat 200\n", "/* /:splat 200\n", "//e.example", "/\\e.example", "%2f", "%5c", "..", "\r", "\0", "é", "?", "&", "=",
        "%", "#", "+",
    ];

    public override byte[] Generate(Random random)
    {
        string asked = "/" + string.Concat(Enumerable.Range(0, random.Next(6)).Select(_ =>
            random.Pick("/", "a", "b", "..", "\\", "%", "e.example", "?id=", "&", ":", "@")));
        string rules = string.Join('\n', Enumerable.Range(0, random.Next(1, 4)).Select(_ =>
            random.Pick("/*", "/a/*", "/:x", "/a id=:id", "/:x/:y") + " "
            + random.Pick("/:splat", "/n/:splat", "/:x", "/:id", "https://o.example/:x", "/n?r=:splat")
            + random.Pick("", " 302", " 200", " 404")));
        return Latin1.Bytes($"{asked}\n{rules}");
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        int line = input.IndexOf((byte)'\n');
        ReadOnlySpan<byte> asked = line < 0 ? input : input[..line];
        int question = asked.IndexOf((byte)'?');
        ReadOnlySpan<byte> path = question < 0 ? asked : asked[..question];
        if (path.IsEmpty || path[0] != '/' || path.Contains((byte)0))
        {
            // A decoded path begins with a slash and holds no NUL: PathTarget sees to it.
            return "no path";
        }

        SiteRules rules = SiteRules.Compile(Options, default, line < 0 ? default : input[(line + 1)..]);
        string outcome = "";
        foreach (RouteTable routes in (RouteTable[])[rules.ForcedRoutes, rules.OtherRoutes])
        {
            foreach (int scratchBytes in (int[])[0, 5, 2048])
            {
                ReadOnlySpan<byte> query = question < 0 ? default : asked[(question + 1)..];
                RuleMatch match = routes.Match(path, query, _scratch.Take(scratchBytes), out RuleTarget target);
                outcome += $"{match} ";
                Check(match, target, Encoding.UTF8.GetString(input));
            }
        }

        return outcome;
    }

    private static void Check(RuleMatch match, RuleTarget target, string file)
    {
        string path = Latin1.Text(target.Path);
        Require(match != RuleMatch.Rewrite || path == "" || path[0] == '/', $"a rewrite to '{path}'");
        Require(!path.Split('/').Intersect([".", ".."]).Any() && !path.Contains('\0'), $"a rewrite to '{path}'");
        if (match != RuleMatch.Redirect)
        {
            return;
        }

        string location = Latin1.Text(target.Location);
        Require(!location.Any(letter => letter is <= ' ' or >= '\x7F' or '\\' or '"' or '<' or '>'), $"a redirect to '{location}'");
        Require(!location.StartsWith("//", StringComparison.Ordinal), $"a redirect to '{location}'");

        // Another host is one that a rule spells out, scheme and all; the site's own is what a browser makes of a path.
        Match authority = Authority().Match(location);
        bool isNamed = authority.Success
            && (file.Contains(authority.Value, StringComparison.OrdinalIgnoreCase)
                || Urls().Matches(file).Any(url => Sent(url.Value).Equals(authority.Value, StringComparison.OrdinalIgnoreCase)));
        Require(isNamed || new Uri(new Uri("https://site.example/a/b"), location).Host == "site.example", $"a redirect to '{location}'");
    }

    /// <summary>What a client asks for where a rule names an international host: its A-labels.</summary>
    private static string Sent(string url)
    {
        int host = url.IndexOf("://", StringComparison.Ordinal) + 3;
        int colon = url.IndexOf(':', host);
        int end = colon < 0 ? url.Length : colon;
        try
        {
            return url[..host] + new IdnMapping().GetAscii(url[host..end].ToLowerInvariant()) + url[end..];
        }
        catch (ArgumentException)
        {
            return "";
        }
    }

    [GeneratedRegex(@"https?://[^/?#\s]+", RegexOptions.IgnoreCase)]
    private static partial Regex Urls();

    [GeneratedRegex(@"\Ahttps?://[^/?#]+", RegexOptions.IgnoreCase)]
    private static partial Regex Authority();
}
