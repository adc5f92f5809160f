using Millrace.StaticFiles.Options;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Options.Settings;

/// <summary>What is wrong with what was said, in one line: place, cause and remedy.</summary>
internal sealed record Complaint(Origin Origin, string Text)
{
    public static Complaint About(ServerOption option, Origin origin, RuleProblem problem) =>
        new(origin, $"{origin.NameOf(option)}: {problem.Cause} {problem.Remedy}".TrimEnd());

    /// <summary>Of what says more about something that another option asks for, where that one does not.</summary>
    public static Complaint OfLonely(Setting lonely, string subject, ServerOption missing)
    {
        string value = missing.Kind == OptionValueKind.Address ? ", with an address" : "";
        return new Complaint(lonely.Origin, $"{lonely.Name} is about {subject}: give {lonely.Origin.NameOf(missing)}{value}.");
    }

    public override string ToString() => (Origin.Position is { } position ? $"{position}: {Text}" : Text)
        + (Origin.Source == SettingSource.Flag ? " Try 'millrace --help'." : "");
}
