using System.Text;
using System.Text.RegularExpressions;

namespace Millrace.Server.Configuration.Files;

/// <summary>Builds a rule's text from the named parts in a file: <c>{from} {to}[ {status}]</c>. Brackets mark optional parts.</summary>
internal sealed partial class RuleTemplate
{
    private RuleTemplate(IReadOnlyList<RulePart> parts) => Parts = parts;

    public IReadOnlyList<RulePart> Parts { get; }

    /// <summary>Whether a rule is a name and a value, so that an object can hold many.</summary>
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

    /// <summary>The text of a rule. All required parts must be present.</summary>
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
/// <param name="Name">The part's key in the file.</param>
/// <param name="IsOptional">Whether the part can be omitted, together with the text around it.</param>
/// <param name="Before">Text before the part.</param>
/// <param name="After">Text after the part.</param>
internal sealed record RulePart(string Name, bool IsOptional, string Before, string After)
{
    /// <summary>The text that ends the part, which it must not contain; may be empty.</summary>
    public string End => After.Trim();
}
