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
    private readonly List<FieldBlock> _blocks = [];
    private readonly HashSet<string> _names = new(StringComparer.OrdinalIgnoreCase);

    /// <summary>The fields of the present block; null before the first one, and in a block whose path is invalid.</summary>
    private List<FieldEdit>? _edits;
    private bool _isAfterPath;

    public static IReadOnlyList<FieldBlock> Parse(ReadOnlySpan<byte> bytes, CorsOptions? cors, out List<string> warnings)
    {
        var headers = new HeadersFile(cors is not null);
        warnings = RuleFile.Read("_headers", bytes, headers.ReadLine);
        return headers._blocks;
    }

    private void ReadLine(string text)
    {
        // No field name starts like a path, so indentation is ignored, as in Netlify and Cloudflare.
        if (text[0] is '/' or '*' || UrlHost.IndexOfHost(text) > 0)
        {
            _edits = null;
            _isAfterPath = true;
            ReadPath(text);
        }
        else if (_edits is not null)
        {
            ReadEdit(text);
        }
        else if (!_isAfterPath)
        {
            throw new SiteException("No path comes before this line.", "Write the path first, such as /*, on a line of its own.");
        }

        // Otherwise the invalid path was reported, and its fields are skipped.
    }

    private void ReadPath(string text)
    {
        UrlHost.RefuseRuleFor(text);
        if (text[0] == '*')
        {
            throw new SiteException("The path does not start with '/'.", $"Write /{FieldValidation.Shown(text)}.");
        }

        if (_blocks.Count == RuleLimits.HeaderBlocksMax)
        {
            throw new SiteException($"There are more than {RuleLimits.HeaderBlocksMax} paths.", "Join some with *.");
        }

        var pattern = PathPattern.Parse(text, PatternSyntax.Glob);
        _edits = [];
        _blocks.Add(new FieldBlock(pattern, _edits));
    }

    private void ReadEdit(string text)
    {
        if (text[0] == '!')
        {
            string removed = text[1..].Trim(' ', '\t');
            FieldValidation.CheckName(removed);
            Add(new FieldEdit(FieldEditKind.Remove, new Field(removed, "")));
            return;
        }

        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (colon < 0)
        {
            throw new SiteException($"'{FieldValidation.Shown(text)}' is neither a path nor a field.", "Write Name: value.");
        }

        string name = text[..colon].TrimEnd(' ', '\t');
        string value = text[(colon + 1)..].Trim(' ', '\t');
        FieldValidation.Check(name, value, hasCors);
        var field = new Field(name, value);
        int before = _edits!.FindLastIndex(edit => edit.Field.Is(name));
        if (before >= 0 && _edits[before].Kind is FieldEditKind.Replace or FieldEditKind.Join)
        {
            Join(before, field);
        }
        else
        {
            Add(FieldEdit.OfBlock(field));
        }
    }

    private void Join(int index, Field field)
    {
        if (!_edits![index].Field.TryJoin(field, out Field joined))
        {
            throw new SiteException(
                $"The values of {field.Name} are too long together.", $"Write at most {FieldValidation.ValueCharactersMax} characters.");
        }

        _edits[index] = _edits[index] with { Field = joined };
    }

    private void Add(FieldEdit edit)
    {
        bool isKnown = _names.Contains(edit.Field.Name);
        if (_edits!.Count == RuleLimits.FieldsMax || (!isKnown && _names.Count == RuleLimits.FieldsMax))
        {
            throw new SiteException($"There are more than {RuleLimits.FieldsMax} fields.", "Leave some out: no client takes so many.");
        }

        _ = _names.Add(edit.Field.Name);
        _edits.Add(edit);
    }
}
