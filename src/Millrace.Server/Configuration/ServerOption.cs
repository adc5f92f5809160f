using System.Diagnostics.CodeAnalysis;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Configuration;

/// <summary>
/// One option of the server as data, from which flags, environment variables, the configuration file, its schema and the reference page are
/// generated. In every source its value is a text. Immutable.
/// </summary>
internal sealed record ServerOption
{
    public const string VariablePrefix = "MILLRACE_";

    /// <summary>The name in lower case with dashes: <c>keep-alive-timeout</c>.</summary>
    public required string Key { get; init; }

    /// <summary>The path in the file, with groups before dots: <c>limits.keep-alive-timeout</c>. Default: the key, in no group.</summary>
    [AllowNull]
    public string Path { get => field ?? Key; init; }

    public OptionScope Scope { get; init; }

    public OptionChange Change { get; init; }

    public required OptionValueKind Kind { get; init; }

    /// <summary>The form of the value, as help shows it: <c>GLOB=VALUE</c>.</summary>
    public required string ValueForm { get; init; }

    /// <summary>What the option does, in a sentence or two, including units.</summary>
    public required string Help { get; init; }

    /// <summary>The default value, or its description in words; may be empty.</summary>
    public string Default { get; init; } = "";

    public OptionOccurrence Occurrence { get; init; }

    /// <summary>The words of a choice, or words that are valid in addition to a number.</summary>
    public IReadOnlyList<string> Choices { get; init; } = [];

    public (long Least, long Most)? Range { get; init; }

    /// <summary>The value of the flag without a value, and of true in the file; null if the flag needs a value.</summary>
    public string? BareValue { get; init; }

    /// <summary>Whether <see cref="Help"/> itself explains the flag without a value; otherwise what shows the help adds it.</summary>
    public bool ExplainsBareValue { get; init; }

    /// <summary>The flag's short form, <c>-l</c>.</summary>
    public string? ShortFlag { get; init; }

    /// <summary>The name of the argument, if the option is not a flag: <c>ROOT</c>.</summary>
    public string? Argument { get; init; }

    /// <summary>The parts of a rule, which the file may write as an object; empty for other kinds.</summary>
    public IReadOnlyList<RulePart> Parts { get; init; } = [];

    /// <summary>
    /// Offset of a file system path in the text, or -1 for none. The file resolves paths against its own folder, other sources against the
    /// working directory. Default: decided by <see cref="Kind"/>.
    /// </summary>
    public Func<string, int>? PathAt { get; init; }

    /// <summary>Sets the option from a text. Throws <see cref="SiteException"/> if the text is not valid.</summary>
    public required Func<ServeOptions, string, ServeOptions> Set { private get; init; }

    /// <summary>The name on the command line: <c>--keep-alive-timeout</c>.</summary>
    public string Flag => Argument ?? $"--{Key}";

    /// <summary>Where the value of the flag stands.</summary>
    public ValuePlace ValuePlace =>
        BareValue is null ? ValuePlace.Needed
        : Kind is OptionValueKind.Switch or OptionValueKind.List or OptionValueKind.Address or OptionValueKind.Seconds
            ? ValuePlace.MayFollow
        : ValuePlace.Attached;

    /// <summary>The environment variable: <c>MILLRACE_KEEP_ALIVE_TIMEOUT</c>.</summary>
    public string Variable => VariablePrefix + Key.Replace('-', '_').ToUpperInvariant();

    /// <summary>Whether a rule is a name and a value, so that an object can hold many.</summary>
    public bool IsPair => Parts is [{ After: "=", IsOptional: false }, { IsOptional: false }];

    public string JsonType
    {
        get
        {
            if (Path == "hosts")
            {
                return "an object of folders, or of objects with a root and their own options";
            }

            string bare = BareValue is not null && Kind != OptionValueKind.Switch ? "true, or " : "";
            string many = Occurrence == OptionOccurrence.Repeatable ? ", or a list of these" : "";
            return bare + OneJsonType + many;
        }
    }

    private string OneJsonType => Kind switch
    {
        OptionValueKind.Switch => "true or false",
        OptionValueKind.Choice => string.Join(", ", Choices.Select(static choice => $"\"{choice}\"")),
        OptionValueKind.Count when Choices.Count > 0 => $"a number or \"{string.Join("\", \"", Choices)}\"",
        OptionValueKind.Count => "a number",
        OptionValueKind.Seconds => "a number of seconds",
        OptionValueKind.Size => "a number of bytes, or a string such as \"64k\"",
        OptionValueKind.List => "a list of strings",
        OptionValueKind.Address => "a port, or an address as a string",
        OptionValueKind.Rule => IsPair ? "an object of strings" : "a string or an object",
        _ => "a string",
    };

    /// <summary>Offset of a file system path in the text, or -1.</summary>
    public int PathIn(string text) => PathAt?.Invoke(text) ?? Kind switch
    {
        OptionValueKind.File or OptionValueKind.Folder => 0,
        OptionValueKind.Address => ListenAddress.PathAt(text),
        _ => -1,
    };

    /// <summary>The options with this one set from a text. Throws <see cref="SiteException"/> if the text is not valid.</summary>
    public ServeOptions Apply(ServeOptions options, string text)
    {
        if (Kind is OptionValueKind.File or OptionValueKind.Folder && (text.Length == 0 || text.Contains('\0', StringComparison.Ordinal)))
        {
            string what = Kind == OptionValueKind.File ? "file" : "folder";
            throw new SiteException(
                $"'{FieldValidation.Shown(text)}' is not a {what} name.", $"Use the path of a {what}, or omit the option.");
        }

        return Set(options, text);
    }

    /// <summary>Whether a text is valid by itself.</summary>
    public bool Accepts(string text)
    {
        try
        {
            _ = Apply(new ServeOptions(), text);
            return true;
        }
        catch (SiteException)
        {
            return false;
        }
    }
}

/// <summary>A part of a rule.</summary>
/// <param name="Name">The part's key in the file.</param>
/// <param name="After">Text after the part, which the part must not contain.</param>
/// <param name="Before">Text before the part.</param>
/// <param name="IsOptional">Whether the part can be omitted, together with the text around it.</param>
internal sealed record RulePart(string Name, string After = "", string Before = "", bool IsOptional = false)
{
    /// <summary>The text that ends the part; may be empty.</summary>
    public string End => After.Trim();
}

/// <summary>When a running server applies a new value of an option.</summary>
internal enum OptionChange
{
    /// <summary>On SIGHUP.</summary>
    AtReload,

    /// <summary>After a restart.</summary>
    AtRestart,
}

internal enum OptionScope
{
    /// <summary>The process: it is set once.</summary>
    Server,

    /// <summary>A site: each virtual host of a file can set its own.</summary>
    Site,
}

/// <summary>Where the value of a flag stands.</summary>
internal enum ValuePlace
{
    /// <summary>After a space or '=': the flag does not stand alone.</summary>
    Needed,

    /// <summary>After a space or '='; the flag may stand alone.</summary>
    MayFollow,

    /// <summary>After '=' only: what follows a space is normally another word.</summary>
    Attached,
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

    /// <summary>One of <see cref="ServerOption.Choices"/>.</summary>
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

    /// <summary>A rule in the form that <see cref="ServerOption.ValueForm"/> describes.</summary>
    Rule,
}
