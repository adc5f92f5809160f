using System.Security.Cryptography.X509Certificates;
using System.Text.Json;

namespace Millrace.Acme.Tests.Authority;

internal sealed record TestAccount(int Id, JsonElement Jwk, string Thumbprint)
{
    public bool IsValid { get; set; } = true;
}

internal sealed record TestOrder(
    int Id, TestAccount Account, IReadOnlyList<string> Names, string? Replaces, string? Profile, DateTimeOffset Made)
{
    public List<TestAuthorization> Authorizations { get; } = [];

    public bool IsInvalid { get; set; }

    public byte[]? SigningRequest { get; set; }

    public DateTimeOffset Finalized { get; set; }

    public X509Certificate2? Certificate { get; set; }
}

internal sealed record TestAuthorization(int Id, TestAccount Account, string Name)
{
    public bool IsWildcard => Name.StartsWith("*.", StringComparison.Ordinal);

    public string Host => IsWildcard ? Name[2..] : Name;

    public string Status { get; set; } = "pending";

    public List<TestChallenge> Challenges { get; } = [];
}

internal sealed record TestChallenge(TestAuthorization Authorization, int Id, string Type, string Token)
{
    public string Status { get; set; } = "pending";

    public DateTimeOffset Accepted { get; set; }

    public string? Error { get; set; }

    public override string ToString() => $"{Type} of {Authorization.Name}: {Status}";
}

/// <summary>What the authority refuses with.</summary>
internal sealed class TestProblem(string name, string detail, int status) : Exception(detail)
{
    public string Name => name;

    public int Status => status;

    public TimeSpan? RetryAfter { get; init; }
}
