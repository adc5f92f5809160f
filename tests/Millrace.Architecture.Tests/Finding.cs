namespace Millrace.Architecture.Tests;

/// <summary>One place that breaks a rule.</summary>
internal readonly record struct Finding(string Path, int Line, string Problem)
{
    public override string ToString() => $"{Path}:{Line}: {Problem}";

    public static void AssertNone(IEnumerable<Finding> findings)
    {
        string report = string.Join('\n', findings);
        Assert.True(report.Length == 0, report);
    }
}
