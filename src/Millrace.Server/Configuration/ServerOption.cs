using System.Diagnostics.CodeAnalysis;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Configuration;

/// <summary>
/// One option of the server as data, from which flags, environment variables, the configuration file, its schema and the reference page are
/// generated. In every source its value is a text. Immutable.
/// </summary>
internal sealed class ServerOption
{
    /// <summary>Prefix of all environment variables.</summary>
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

    /// <summary>The range of a number.</summary>
    public (long Least, long Most)? Range { get; init; }

    /// <summary>The value of the flag without a value, and of true in the file; null if the flag needs a value.</summary>
    public string? BareValue { get; init; }

    /// <summary>Whether <see cref="Help"/> itself explains the flag without a value.</summary>
    public BareNote BareNote { get; init; }

    /// <summary>The flag's short form, <c>-l</c>.</summary>
    public string? ShortFlag { get; init; }

    /// <summary>The name of the argument, if the option is not a flag: <c>ROOT</c>.</summary>
    public string? Argument { get; init; }

    /// <summary>The template of a rule that the file may write in parts: names in braces, optional parts in brackets.</summary>
    public string? Template { get; init; }

    /// <summary>
    /// Offset of a file system path in the text, or -1 for none. The file resolves paths against its own folder, other sources against the
    /// working directory. Default: decided by <see cref="Kind"/>.
    /// </summary>
    public Func<string, int>? PathAt { get; init; }

    /// <summary>Applies a text to the options. Throws <see cref="SiteException"/> if the text is not valid.</summary>
    public required Func<ServeOptions, string, ServeOptions> Apply { private get; init; }

    /// <summary>The name on the command line: <c>--keep-alive-timeout</c>.</summary>
    public string Flag => Argument ?? $"--{Key}";

    /// <summary>The environment variable: <c>MILLRACE_KEEP_ALIVE_TIMEOUT</c>.</summary>
    public string Variable => VariableOf(Key);

    public static string VariableOf(string key) => VariablePrefix + key.Replace('-', '_').ToUpperInvariant();

    /// <summary>Offset of a file system path in the text, or -1.</summary>
    public int PathIn(string text) => PathAt?.Invoke(text) ?? Kind switch
    {
        OptionValueKind.File or OptionValueKind.Folder => 0,
        OptionValueKind.Address => ListenAddress.PathAt(text),
        _ => -1,
    };

    /// <summary>Sets this option from a text, after checks.</summary>
    public bool TryApply(
        ServeOptions options,
        string text,
        [NotNullWhen(true)] out ServeOptions? applied,
        [NotNullWhen(false)] out RuleProblem? problem)
    {
        if (Kind == OptionValueKind.File && (text.Length == 0 || text.Contains('\0', StringComparison.Ordinal)))
        {
            applied = null;
            string shown = text.Replace("\0", "\\0", StringComparison.Ordinal);
            problem = new RuleProblem($"'{shown}' is not a file name", "Use the path of a file, or omit the option.");
            return false;
        }

        try
        {
            applied = Apply(options, text);
            problem = null;
            return true;
        }
        catch (SiteException refusal)
        {
            applied = null;
            problem = new RuleProblem(refusal.Cause, refusal.Remedy);
            return false;
        }
    }
}

/// <summary>Where a flag with an optional value is explained.</summary>
internal enum BareNote
{
    /// <summary>The code that shows the help adds it.</summary>
    Added,

    /// <summary>In the option's help.</summary>
    InHelp,
}

/// <summary>When a running server applies a new value of an option.</summary>
internal enum OptionChange
{
    /// <summary>On SIGHUP.</summary>
    AtReload,

    /// <summary>After a restart.</summary>
    AtRestart,
}

/// <summary>What an option applies to.</summary>
internal enum OptionScope
{
    /// <summary>The process: it is set once.</summary>
    Server,

    /// <summary>A site: each virtual host of a file can set its own.</summary>
    Site,
}
