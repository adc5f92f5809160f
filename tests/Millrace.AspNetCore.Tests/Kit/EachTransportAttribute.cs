namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>A test of the contract: it runs on every transport there is.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class EachTransportAttribute() : EachKindAttribute<TransportKind>(TransportKind.Millrace);
