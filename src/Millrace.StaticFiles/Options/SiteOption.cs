namespace Millrace.StaticFiles.Options;

/// <summary>
/// One option of a site as data, from which flags, environment variables, the configuration file, its schema and the reference page are
/// made. Immutable.
/// </summary>
internal sealed class SiteOption
{
    /// <summary>The name in lower case with dashes: <c>cache-control</c>.</summary>
    public required string Key { get; init; }

    public required OptionValueKind Kind { get; init; }

    /// <summary>The form of the value, as help shows it: <c>GLOB=VALUE</c>.</summary>
    public required string ValueForm { get; init; }

    /// <summary>The effect in one sentence, with units.</summary>
    public required string Help { get; init; }

    /// <summary>The default, as the text of a value; empty if there is none.</summary>
    public required string Default { get; init; }

    public OptionOccurrence Occurrence { get; init; }

    /// <summary>The allowed values of a choice.</summary>
    public IReadOnlyList<string> Choices { get; init; } = [];

    /// <summary>The value of the flag without a value; null if it needs one.</summary>
    public string? BareValue { get; init; }

    /// <summary>Applies a text to the options. Throws <see cref="SiteException"/> for an invalid text.</summary>
    public required Func<SiteOptions, string, SiteOptions> Apply { private get; init; }

    /// <summary>The command-line flag: <c>--cache-control</c>.</summary>
    public string Flag => $"--{Key}";

    /// <summary>The options with this one set from a text, checked. Throws <see cref="SiteException"/> for an invalid text.</summary>
    public SiteOptions With(SiteOptions options, string text)
    {
        SiteOptions changed = Apply(options, text);
        SiteOptionChecks.CheckValues(changed);
        return changed;
    }
}

/// <summary>How often an option may be given.</summary>
internal enum OptionOccurrence
{
    /// <summary>Once; of several sources the last one applies.</summary>
    Once,

    /// <summary>Each occurrence adds to the earlier ones.</summary>
    Repeatable,
}

/// <summary>The type of an option's value, for the schema and the reference page.</summary>
internal enum OptionValueKind
{
    /// <summary>on or off; the bare flag means on.</summary>
    Switch,

    /// <summary>One of <see cref="SiteOption.Choices"/>.</summary>
    Choice,

    Count,

    /// <summary>A number of bytes: 4096, 64k, 256m, 1g.</summary>
    Size,
    Seconds,

    /// <summary>An address to listen on.</summary>
    Address,
    Text,

    /// <summary>Texts separated by commas.</summary>
    List,

    /// <summary>The path of a local file.</summary>
    File,

    /// <summary>The path of a local directory.</summary>
    Folder,

    /// <summary>A path of the site.</summary>
    UrlPath,

    /// <summary>A rule in the form that <see cref="SiteOption.ValueForm"/> describes.</summary>
    Rule,
}
