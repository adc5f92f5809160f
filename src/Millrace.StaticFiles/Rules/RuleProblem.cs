namespace Millrace.StaticFiles.Rules;

/// <summary>Why a rule or an option's value is not valid, and the remedy: one sentence each.</summary>
internal sealed record RuleProblem(string Cause, string Remedy)
{
    public override string ToString() => $"{Cause} {Remedy}";
}
