namespace Millrace.StaticFiles.Rules;

/// <summary>A part of a rule's target: literal text, or a capture if <see cref="Literal"/> is null.</summary>
internal readonly record struct TargetPart(string? Literal, int Capture)
{
    /// <summary>
    /// Splits a target at its placeholders. A ':' without a known name is literal, except at the start of a segment, where it is most
    /// likely a mistyped name.
    /// </summary>
    public static RuleProblem? Split(string text, IReadOnlyList<string> names, List<TargetPart> parts)
    {
        int literal = 0;
        for (int at = 0; at < text.Length; at++)
        {
            int length = text[at] == ':' ? PatternReader.NameCharactersAt(text, at) : 0;
            if (length == 0)
            {
                continue;
            }

            string name = text.Substring(at + 1, length);
            int capture = IndexOf(names, name);
            if (capture >= 0)
            {
                AddLiteral(parts, text[literal..at]);
                parts.Add(new TargetPart(null, capture));
                at += length;
                literal = at + 1;
            }
            else if (at > 0 && text[at - 1] == '/')
            {
                return new RuleProblem(
                    $"The target '{FieldValidation.Shown(text)}' uses ':{FieldValidation.Shown(name)}', which the rule does not capture.",
                    $"Capture it with ':{FieldValidation.Shown(name)}' ('*' for ':splat'), or write a literal colon as %3A.");
            }
        }

        AddLiteral(parts, text[literal..]);
        return null;
    }

    private static int IndexOf(IReadOnlyList<string> names, string name)
    {
        for (int i = 0; i < names.Count; i++)
        {
            if (names[i].Equals(name, StringComparison.Ordinal))
            {
                return i;
            }
        }

        return -1;
    }

    private static void AddLiteral(List<TargetPart> parts, string literal)
    {
        if (literal.Length > 0)
        {
            parts.Add(new TargetPart(literal, -1));
        }
    }
}
