using Millrace.StaticFiles.Options;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Configuration.Settings;

/// <summary>An error in a setting, in one line: position, cause and remedy.</summary>
internal sealed record OptionError(SettingOrigin Origin, string Text)
{
    public static OptionError About(ServerOption option, SettingOrigin origin, RuleProblem problem) =>
        new(origin, $"{origin.NameOf(option)}: {problem.Cause} {problem.Remedy}".TrimEnd());

    /// <summary>The error of a setting that has no effect, as the option it depends on is missing.</summary>
    public static OptionError OfDependent(Setting dependent, string subject, ServerOption missing)
    {
        string value = missing.Kind == OptionValueKind.Address ? ", with an address" : "";
        return new OptionError(
            dependent.Origin, $"{dependent.Name} has no effect without {subject}: add {dependent.Origin.NameOf(missing)}{value}.");
    }

    public override string ToString() => (Origin.Position is { } position ? $"{position}: {Text}" : Text)
        + (Origin.Source == SettingSource.Flag ? " Try 'millrace --help'." : "");
}
