namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The site's <c>_headers</c> file in the syntax of Netlify and Cloudflare: a line with a path pattern, then its fields, one a line:
/// <c>Name: value</c>, or <c>! Name</c> to send none of that name. Invalid lines are reported and skipped.
/// </summary>
/// <remarks>
/// A name that occurs twice in a block is joined with a comma. Of blocks that match the same path, the later one replaces a field, or
/// appends to it if it is a list (<see cref="FieldEdit"/>).
/// </remarks>
internal sealed class HeadersFile(bool hasCors)
{
    public const string Name = "_headers";

    private readonly RuleFile _file = new(Name);
    private readonly List<FieldBlock> _blocks = [];
    private readonly HashSet<string> _names = new(StringComparer.OrdinalIgnoreCase);

    /// <summary>The fields of the present block; null before the first one, and in a block whose path is invalid.</summary>
    private List<FieldEdit>? _edits;
    private bool _isAfterPath;

    public static IReadOnlyList<FieldBlock> Parse(ReadOnlySpan<byte> bytes, CorsOptions? cors, out IEnumerable<string> warnings)
    {
        var headers = new HeadersFile(cors is not null);
        foreach ((int number, string text) in headers._file.Read(bytes))
        {
            if (headers.ReadLine(text) is RuleProblem problem)
            {
                headers._file.Warn(number, problem);
            }
        }

        warnings = headers._file.Warnings;
        return headers._blocks;
    }

    private RuleProblem? ReadLine(string text)
    {
        // No field name starts like a path, so indentation is ignored, as in Netlify and Cloudflare.
        if (text[0] is '/' or '*' || UrlHost.IndexOfHost(text) > 0)
        {
            _edits = null;
            _isAfterPath = true;
            return ReadPath(text);
        }

        if (_edits is not null)
        {
            return text[0] == '!' ? ReadRemoval(text) : ReadField(text);
        }

        // The invalid path was reported, and its fields are skipped.
        return _isAfterPath
            ? null
            : new RuleProblem("No path comes before this line.", "Write the path first, as /*, on a line of its own.");
    }

    private RuleProblem? ReadPath(string text)
    {
        if (text[0] is not ('/' or '*'))
        {
            return RuleProblem.HostRule;
        }

        if (text[0] == '*')
        {
            return new RuleProblem("The path does not start with '/'.", $"Write /{FieldValidation.Shown(text)}.");
        }

        if (_blocks.Count == RuleLimits.HeaderBlocksMax)
        {
            return new RuleProblem($"There are more than {RuleLimits.HeaderBlocksMax} paths.", "Join some with *.");
        }

        if (PathPattern.TryParse(text, PatternSyntax.Glob, out PathPattern? pattern, out RuleProblem? problem))
        {
            _edits = [];
            _blocks.Add(new FieldBlock(pattern, _edits));
        }

        return problem;
    }

    private RuleProblem? ReadRemoval(string text)
    {
        string name = text[1..].Trim(' ', '\t');
        return FieldValidation.OfName(name) ?? Add(new FieldEdit(FieldEditKind.Remove, new Field(name, "")));
    }

    private RuleProblem? ReadField(string text)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (colon < 0)
        {
            return new RuleProblem($"'{FieldValidation.Shown(text)}' is neither a path nor a field.", "Write Name: value.");
        }

        string name = text[..colon].TrimEnd(' ', '\t');
        string value = text[(colon + 1)..].Trim(' ', '\t');
        RuleProblem? problem = FieldValidation.Of(name, value) ?? (hasCors ? FieldValidation.OfCors(name) : null);
        if (problem is not null)
        {
            return problem;
        }

        var field = new Field(name, value);
        int before = _edits!.FindLastIndex(edit => edit.Field.Is(name));
        bool isAgain = before >= 0 && _edits[before].Kind is FieldEditKind.Replace or FieldEditKind.Join;
        return isAgain ? Join(before, field) : Add(FieldEdit.OfBlock(field));
    }

    private RuleProblem? Join(int index, Field field)
    {
        if (!_edits![index].Field.TryJoin(field, out Field joined))
        {
            return new RuleProblem(
                $"The values of {field.Name} are too long together.", $"Write at most {FieldValidation.ValueCharactersMax} characters.");
        }

        _edits[index] = _edits[index] with { Field = joined };
        return null;
    }

    private RuleProblem? Add(FieldEdit edit)
    {
        bool isKnown = _names.Contains(edit.Field.Name);
        if (_edits!.Count == RuleLimits.FieldsMax || (!isKnown && _names.Count == RuleLimits.FieldsMax))
        {
            return new RuleProblem($"There are more than {RuleLimits.FieldsMax} fields.", "Leave some out: no client takes so many.");
        }

        _ = _names.Add(edit.Field.Name);
        _edits.Add(edit);
        return null;
    }
}
