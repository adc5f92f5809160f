using System.Reflection;
using Xunit.Sdk;
using Xunit.v3;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>A test of the contract: it runs on every transport there is.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class EachTransportAttribute : DataAttribute
{
    /// <summary>Whether it takes seconds. Then the usual run has it on Millrace alone, and <c>./test all</c> on the others.</summary>
    public bool TakesSeconds { get; set; }

    private TransportKind[] Kinds => TakesSeconds && Environment.GetEnvironmentVariable("MILLRACE_TEST_ALL") is not "1"
        ? [TransportKind.Millrace]
        : Enum.GetValues<TransportKind>();

    public override ValueTask<IReadOnlyCollection<ITheoryDataRow>> GetData(MethodInfo testMethod, DisposalTracker disposalTracker) =>
        new([.. Kinds.Select(static kind => new TheoryDataRow<TransportKind>(kind))]);

    public override bool SupportsDiscoveryEnumeration() => true;
}
