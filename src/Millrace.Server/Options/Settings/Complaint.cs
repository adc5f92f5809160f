using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Options.Settings;

/// <summary>What is wrong with what was said, in one line: place, cause and remedy.</summary>
internal sealed record Complaint(Origin Origin, string Text)
{
    public static Complaint About(ServerOption option, Origin origin, RuleProblem problem) =>
        new(origin, $"{origin.NameOf(option)}: {problem.Cause} {problem.Remedy}".TrimEnd());

    public override string ToString() => (Origin.Position is { } position ? $"{position}: {Text}" : Text)
        + (Origin.Source == SettingSource.Flag ? " Try 'millrace --help'." : "");
}
