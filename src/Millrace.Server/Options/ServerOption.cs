using System.Diagnostics.CodeAnalysis;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Options;

/// <summary>
/// One option of the server as data: what flags, environment variables, the configuration file, its schema and the reference page are made
/// from. Whatever says it, its value is a text. Immutable.
/// </summary>
internal sealed class ServerOption
{
    /// <summary>What the names of all variables begin with.</summary>
    public const string VariablePrefix = "MILLRACE_";

    /// <summary>Its name in lower case with dashes: <c>keep-alive-timeout</c>.</summary>
    public required string Key { get; init; }

    /// <summary>Its place in the file, groups before dots: <c>limits.keep-alive-timeout</c>. Default: the key, in no group.</summary>
    [AllowNull]
    public string Path { get => field ?? Key; init; }

    public OptionScope Scope { get; init; }

    public OptionChange Change { get; init; }

    public required OptionValueKind Kind { get; init; }

    /// <summary>The form of its value, as help shows it: <c>GLOB=VALUE</c>.</summary>
    public required string ValueForm { get; init; }

    /// <summary>What it does, in a sentence or two, units included.</summary>
    public required string Help { get; init; }

    /// <summary>What holds without it: its text, or words where none says it; empty for nothing.</summary>
    public string Default { get; init; } = "";

    public OptionOccurrence Occurrence { get; init; }

    /// <summary>Of a choice, or besides a number: what it can be.</summary>
    public IReadOnlyList<string> Choices { get; init; } = [];

    /// <summary>Of a number: the least and the most.</summary>
    public (long Least, long Most)? Range { get; init; }

    /// <summary>What the flag means without a value, and true in the file; null where it needs one.</summary>
    public string? BareValue { get; init; }

    /// <summary>Whether <see cref="Help"/> says itself what the flag means without a value.</summary>
    public BareNote BareNote { get; init; }

    /// <summary>Its flag's short form, <c>-l</c>.</summary>
    public string? ShortFlag { get; init; }

    /// <summary>The name as an argument, where no flag says it: <c>ROOT</c>.</summary>
    public string? Argument { get; init; }

    /// <summary>How the file may spell the text in parts, names in braces and what may be left out in brackets.</summary>
    public string? Template { get; init; }

    /// <summary>
    /// Where a path of this machine begins in a text, which a file says from its own folder; -1 for nowhere. Default: its kind decides.
    /// </summary>
    public Func<string, int>? PathAt { get; init; }

    /// <summary>Gives the options with a text applied. Throws <see cref="SiteException"/> for a text that cannot be meant.</summary>
    public required Func<ServeOptions, string, ServeOptions> Apply { private get; init; }

    /// <summary>As the command line has it: <c>--keep-alive-timeout</c>.</summary>
    public string Flag => Argument ?? $"--{Key}";

    /// <summary>As the environment has it: <c>MILLRACE_KEEP_ALIVE_TIMEOUT</c>.</summary>
    public string Variable => VariableOf(Key);

    public static string VariableOf(string key) => VariablePrefix + key.Replace('-', '_').ToUpperInvariant();

    /// <summary>The options with this one set from a text, checked.</summary>
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
            problem = new RuleProblem($"'{shown}' names no file", "Give the path of one, or leave the option out.");
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

/// <summary>Who explains a flag that may stand alone.</summary>
internal enum BareNote
{
    /// <summary>Whoever shows its help.</summary>
    Added,

    /// <summary>Its help.</summary>
    InHelp,
}
