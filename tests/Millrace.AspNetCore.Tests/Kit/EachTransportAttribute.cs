using System.Reflection;
using Xunit.Sdk;
using Xunit.v3;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>A test of the contract: it runs on every transport there is.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class EachTransportAttribute : DataAttribute
{
    public override ValueTask<IReadOnlyCollection<ITheoryDataRow>> GetData(MethodInfo testMethod, DisposalTracker disposalTracker) =>
        new([.. Enum.GetValues<TransportKind>().Select(static kind => new TheoryDataRow<TransportKind>(kind))]);

    public override bool SupportsDiscoveryEnumeration() => true;
}
