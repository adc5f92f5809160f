using System.Reflection;
using Xunit.Sdk;
using Xunit.v3;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>A test that runs with each kind there is.</summary>
/// <param name="usual">The one that the usual run never leaves out.</param>
public abstract class EachKindAttribute<TKind>(TKind usual) : DataAttribute
    where TKind : struct, Enum
{
    /// <summary>Whether it takes seconds. Then the usual run has it with one kind, and <c>./test all</c> with the others.</summary>
    public bool TakesSeconds { get; set; }

    private TKind[] Kinds => TakesSeconds && Environment.GetEnvironmentVariable("MILLRACE_TEST_ALL") is not "1"
        ? [usual]
        : Enum.GetValues<TKind>();

    public override ValueTask<IReadOnlyCollection<ITheoryDataRow>> GetData(MethodInfo testMethod, DisposalTracker disposalTracker) =>
        new([.. Kinds.Select(static kind => new TheoryDataRow<TKind>(kind))]);

    public override bool SupportsDiscoveryEnumeration() => true;
}
