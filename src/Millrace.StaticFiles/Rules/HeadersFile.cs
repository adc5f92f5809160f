namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The site's <c>_headers</c> in the syntax of Netlify and Cloudflare: a line with a path pattern, then its fields, a line each:
/// <c>Name: value</c>, or <c>! Name</c> to send none of that name. What is not understood is named and skipped.
/// </summary>
/// <remarks>
/// A name that comes twice in a block is joined with a comma. Of blocks that match the same path the later one replaces a field,
/// or adds to it where it is a list (<see cref="FieldEdit"/>).
/// </remarks>
internal static class HeadersFile
{
    public const string Name = "_headers";

    /// <param name="bytes">The file.</param>
    /// <param name="hasCors">Whether the server answers for CORS by itself, and a site must not contradict it.</param>
    /// <param name="warnings">What is wrong, as "file:line: cause remedy".</param>
    public static List<FieldBlock> Parse(ReadOnlySpan<byte> bytes, bool hasCors, out IEnumerable<string> warnings)
    {
        var file = new RuleFile(Name);
        var blocks = new List<FieldBlock>();
        var state = BlockState.None;
        List<FieldEdit> edits = [];
        foreach ((int number, string text) in file.Read(bytes))
        {
            // No field's name starts like a path, so indentation need not be told apart, as neither Netlify nor Cloudflare does.
            RuleProblem? problem;
            if (text[0] is '/' or '*' || text.Contains("://", StringComparison.Ordinal) && text.StartsWith("http", StringComparison.Ordinal))
            {
                edits = [];
                problem = Open(text, blocks, edits);
                state = problem is null ? BlockState.Open : BlockState.Skipped;
            }
            else
            {
                problem = state switch
                {
                    BlockState.Open => AddLine(text, edits, hasCors),
                    BlockState.Skipped => null,
                    _ => new RuleProblem("No path comes before this line.", "Write the path first, as /*, on a line of its own."),
                };
            }

            if (problem is not null)
            {
                file.Warn(number, problem);
            }
        }

        warnings = file.Warnings;
        return blocks;
    }

    private static RuleProblem? Open(string text, List<FieldBlock> blocks, List<FieldEdit> edits)
    {
        if (text.StartsWith("http", StringComparison.Ordinal))
        {
            return new RuleProblem("Rules for a host are not supported.", "Write the path alone; give each host a root of its own.");
        }

        if (text[0] != '/')
        {
            return new RuleProblem("The path does not start with '/'.", $"Write /{FieldRefusals.Shown(text)}.");
        }

        if (blocks.Count == RuleLimits.HeaderBlocksMax)
        {
            return new RuleProblem($"There are more than {RuleLimits.HeaderBlocksMax} paths.", "Join some with *.");
        }

        if (!PathPattern.TryParse(text, PatternSyntax.Glob, out PathPattern? pattern, out RuleProblem? problem))
        {
            return problem;
        }

        blocks.Add(new FieldBlock(pattern, edits));
        return null;
    }

    private static RuleProblem? AddLine(string text, List<FieldEdit> edits, bool hasCors)
    {
        if (text[0] == '!')
        {
            string removed = text[1..].Trim(' ', '\t');
            RuleProblem? refusal = FieldRefusals.OfName(removed);
            if (refusal is null)
            {
                edits.Add(new FieldEdit(FieldEditKind.Remove, new Field(removed, "")));
            }

            return refusal;
        }

        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (colon < 0)
        {
            return new RuleProblem($"'{FieldRefusals.Shown(text)}' is neither a path nor a field.", "Write Name: value.");
        }

        string name = text[..colon].TrimEnd(' ', '\t');
        string value = text[(colon + 1)..].Trim(' ', '\t');
        RuleProblem? problem = FieldRefusals.Of(name, value) ?? (hasCors ? FieldRefusals.OfCors(name) : null);
        return problem ?? Add(edits, new Field(name, value));
    }

    private static RuleProblem? Add(List<FieldEdit> edits, Field field)
    {
        int before = edits.FindLastIndex(edit => edit.Field.Is(field.Name));
        if (before < 0 || edits[before].Kind is FieldEditKind.Add or FieldEditKind.Remove)
        {
            edits.Add(FieldEdit.OfBlock(field));
            return null;
        }

        FieldEdit joined = edits[before];
        string value = $"{joined.Field.Value}, {field.Value}";
        edits[before] = joined with { Field = new Field(joined.Field.Name, value) };
        return FieldRefusals.OfValue(field.Name, value);
    }

    private enum BlockState
    {
        None,
        Open,

        /// <summary>Its path was not understood: its fields belong to nobody.</summary>
        Skipped,
    }
}
