namespace Millrace.StaticFiles.Rules;

/// <summary>Why a rule, an option's text or a value of it cannot be used, and what would remedy it: one sentence each.</summary>
internal sealed record RuleProblem(string Cause, string Remedy)
{
    public override string ToString() => $"{Cause} {Remedy}";
}
