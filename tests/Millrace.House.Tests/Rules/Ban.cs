using System.Text.RegularExpressions;

namespace Millrace.House.Tests.Rules;

/// <summary>Something the code of a room does not contain, with the reason and an example that shows the ban to work.</summary>
internal sealed record Ban(string Name, Scope Scope, string Pattern, string Reason, string Example)
{
    private readonly Regex _regex = new(Pattern, RegexOptions.CultureInvariant);

    public bool Covers(SourceFile file) => Scope switch
    {
        Scope.Source => file.Path.StartsWith("src/", StringComparison.Ordinal),
        Scope.SourceButServer => file.Path.StartsWith("src/", StringComparison.Ordinal) && file.Project != "Millrace.Server",
        Scope.SourceButBindings => file.Path.StartsWith("src/", StringComparison.Ordinal)
            && file.Project is not ("Millrace.Interop" or "Millrace.Tls"),
        Scope.Engine => file.Path.StartsWith("src/Millrace.Engine/", StringComparison.Ordinal),
        Scope.Tests => file.Path.StartsWith("tests/", StringComparison.Ordinal),
        _ => throw new InvalidOperationException($"{Scope} is no scope."),
    };

    public IEnumerable<Finding> Check(SourceFile file) =>
        Covers(file) ? _regex.Matches(file.Code).Select(match => file.At(match.Index, $"{Name}: {Reason}")) : [];
}

internal enum Scope
{
    Source,
    SourceButServer,
    SourceButBindings,
    Engine,
    Tests,
}
