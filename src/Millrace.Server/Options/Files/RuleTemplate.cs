using System.Text;
using System.Text.RegularExpressions;

namespace Millrace.Server.Options.Files;

/// <summary>
/// How a rule's text is made of parts that a file names: <c>{from} {to}[ {status}]</c>. In brackets is what may be left out.
/// </summary>
internal sealed partial class RuleTemplate
{
    private RuleTemplate(IReadOnlyList<RulePart> parts) => Parts = parts;

    public IReadOnlyList<RulePart> Parts { get; }

    /// <summary>Whether it is a name and what that has, so that many of them are one object.</summary>
    public bool IsPair => Parts is [{ IsOptional: false, After: "=" }, { IsOptional: false }];

    public static RuleTemplate Parse(string template)
    {
        var parts = new List<RulePart>();
        foreach (Match match in Piece().Matches(template))
        {
            if (match.Groups["literal"] is { Success: true } literal)
            {
                parts[^1] = parts[^1] with { After = literal.Value };
            }
            else
            {
                bool isOptional = match.Value[0] == '[';
                parts.Add(new RulePart(
                    match.Groups["name"].Value, isOptional, match.Groups["before"].Value, match.Groups["after"].Value));
            }
        }

        return new RuleTemplate(parts);
    }

    /// <summary>The rule of these parts, those that must be there among them.</summary>
    public string Join(IReadOnlyDictionary<string, string> values)
    {
        var text = new StringBuilder();
        foreach (RulePart part in Parts)
        {
            if (values.TryGetValue(part.Name, out string? value))
            {
                text.Append(part.Before).Append(value).Append(part.After);
            }
        }

        return text.ToString();
    }

    [GeneratedRegex(@"\[(?<before>[^{]*)\{(?<name>\w+)\}(?<after>[^\]]*)\]|\{(?<name>\w+)\}|(?<literal>[^\[{]+)")]
    private static partial Regex Piece();
}

/// <summary>A part of a rule.</summary>
/// <param name="Name">As the file has it.</param>
/// <param name="IsOptional">Whether it may be left out, together with what stands around it.</param>
/// <param name="Before">What stands before it.</param>
/// <param name="After">What stands behind it.</param>
internal sealed record RulePart(string Name, bool IsOptional, string Before, string After)
{
    /// <summary>What the part cannot hold, as it ends there; empty for nothing.</summary>
    public string End => After.Trim();
}
