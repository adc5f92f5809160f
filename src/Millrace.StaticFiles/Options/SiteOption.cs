using System.Diagnostics.CodeAnalysis;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Options;

/// <summary>
/// One option of a site as data: what flags, environment variables, the configuration file, its schema and the reference page are made
/// from. Immutable.
/// </summary>
internal sealed class SiteOption
{
    /// <summary>Its name in lower case with dashes: <c>cache-control</c>.</summary>
    public required string Key { get; init; }

    public required OptionValueKind Kind { get; init; }

    /// <summary>The form of its value, as help shows it: <c>GLOB=VALUE</c>.</summary>
    public required string ValueForm { get; init; }

    /// <summary>What it does, in one sentence, units included.</summary>
    public required string Help { get; init; }

    /// <summary>What holds without it, as its text would say it; empty for nothing.</summary>
    public required string Default { get; init; }

    public OptionOccurrence Occurrence { get; init; }

    /// <summary>Of a choice: what it can be.</summary>
    public IReadOnlyList<string> Choices { get; init; } = [];

    /// <summary>What the flag means without a value; null where it needs one.</summary>
    public string? BareValue { get; init; }

    /// <summary>Gives the options with a text applied. Throws <see cref="SiteException"/> for a text that cannot be meant.</summary>
    public required Func<SiteOptions, string, SiteOptions> Apply { private get; init; }

    /// <summary>The flag of the command line: <c>--cache-control</c>.</summary>
    public string Flag => $"--{Key}";

    /// <summary>
    /// The options with this one set from a text, checked. Throws <see cref="SiteException"/> for one that cannot be meant.
    /// </summary>
    public SiteOptions With(SiteOptions options, string text)
    {
        SiteOptions changed = Apply(options, text);
        SiteOptionChecks.CheckValues(changed);
        return changed;
    }

    /// <summary>The options with this one set from a text, checked; null is the flag without a value.</summary>
    public bool TryApply(
        SiteOptions options,
        string? text,
        [NotNullWhen(true)] out SiteOptions? applied,
        [NotNullWhen(false)] out RuleProblem? problem)
    {
        applied = null;
        problem = null;
        if ((text ?? BareValue) is not string value)
        {
            problem = new RuleProblem($"{Flag} has no value.", $"Write {Flag} {ValueForm}.");
            return false;
        }

        try
        {
            applied = With(options, value);
        }
        catch (SiteException refusal)
        {
            problem = new RuleProblem($"{Flag}: {refusal.Cause}", refusal.Remedy);
        }

        return applied is not null;
    }
}
