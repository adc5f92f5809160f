namespace Millrace.StaticFiles.Rules;

/// <summary>Parses proxy rules, each a line: <c>PATH[!] TARGET... [host=upstream]</c>.</summary>
internal static class ProxyRuleText
{
    private const string HostKey = "host=";

    private static readonly char[] Blanks = [' ', '\t'];

    /// <summary>Parses the text of an option. Throws <see cref="SiteException"/> if it is not valid.</summary>
    public static ProxyRule Parse(string text)
    {
        string[] words = text.Split(Blanks, StringSplitOptions.RemoveEmptyEntries);
        bool hasHost = words.Length > 0 && words[^1].StartsWith(HostKey, StringComparison.Ordinal);
        string[] targets = words.Length > 1 ? words[1..^(hasHost ? 1 : 0)] : [];
        if (targets.Length == 0)
        {
            throw new SiteException(
                $"'{FieldValidation.Shown(text)}' is incomplete.", "Write PATH TARGET, such as '/api/* http://127.0.0.1:5000'.");
        }

        UrlHost.RefuseRuleFor(words[0]);
        bool isFallback = words[0].EndsWith('!');
        ProxyRule rule = Of(isFallback ? words[0][..^1] : words[0], targets) with
        {
            IsFallback = isFallback,
            ReplacesHost = hasHost && ReadHost(words[^1][HostKey.Length..]),
        };
        _ = Route.Compile(rule);
        return rule;
    }

    /// <summary>A rule for a path. Throws <see cref="SiteException"/> if targets are not valid, or differ in their paths.</summary>
    public static ProxyRule Of(string path, IReadOnlyList<string> targets)
    {
        var places = new List<string>();
        string? targetPath = null;
        foreach (string text in targets)
        {
            string place = ProxyTarget.Parse(text, out string? own).ToString();
            own = own is ['?', ..] ? "/" + own : own;
            if (places.Count > 0 && own != targetPath)
            {
                throw new SiteException(
                    $"The targets of '{FieldValidation.Shown(path)}' have different paths.", "Write the same path after each, or none.");
            }

            targetPath = own;
            if (!places.Contains(place))
            {
                places.Add(place);
            }
        }

        return new ProxyRule(path, places) { TargetPath = targetPath };
    }

    private static bool ReadHost(string text) => text switch
    {
        "upstream" => true,
        "client" => false,
        _ => throw new SiteException(
            $"'{HostKey}{FieldValidation.Shown(text)}' is neither client nor upstream.",
            "Write host=upstream to send the target's own name as Host, or leave it out to keep the client's."),
    };
}
