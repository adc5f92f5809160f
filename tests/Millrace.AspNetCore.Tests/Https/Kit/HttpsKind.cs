using System.Reflection;
using Millrace.AspNetCore.Tests.Kit;
using Xunit.Sdk;
using Xunit.v3;

namespace Millrace.AspNetCore.Tests.Https.Kit;

/// <summary>Who terminates TLS. Kestrel's UseHttps over the sockets transport is the control: what it does not pass is no contract.</summary>
public enum HttpsKind
{
    Kestrel,
    Millrace,
    MillraceOnThePool,
}

/// <summary>A test of what HTTPS owes: it runs with each that terminates it.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class EachHttpsAttribute : DataAttribute
{
    /// <summary>Whether it takes seconds. Then the usual run has it on Millrace alone, and <c>./test all</c> with the others.</summary>
    public bool TakesSeconds { get; set; }

    private HttpsKind[] Kinds => TakesSeconds && Environment.GetEnvironmentVariable("MILLRACE_TEST_ALL") is not "1"
        ? [HttpsKind.Millrace]
        : Enum.GetValues<HttpsKind>();

    public override ValueTask<IReadOnlyCollection<ITheoryDataRow>> GetData(MethodInfo testMethod, DisposalTracker disposalTracker) =>
        new([.. Kinds.Select(static kind => new TheoryDataRow<HttpsKind>(kind))]);

    public override bool SupportsDiscoveryEnumeration() => true;
}

internal static class HttpsKinds
{
    public static TransportKind Transport(this HttpsKind kind) => kind switch
    {
        HttpsKind.Kestrel => TransportKind.Sockets,
        HttpsKind.Millrace => TransportKind.Millrace,
        HttpsKind.MillraceOnThePool => TransportKind.MillraceOnThePool,
        _ => throw new ArgumentOutOfRangeException(nameof(kind), kind, "Nobody does that."),
    };
}
