namespace Millrace.Acme.Protocol;

/// <summary>An authorization as the server last described it (RFC 8555, section 7.1.4). Immutable.</summary>
internal sealed record AcmeAuthorization
{
    public required Uri Url { get; init; }

    /// <summary>Without the <c>*.</c> of a wildcard.</summary>
    public required AcmeIdentifier Identifier { get; init; }

    public required AcmeAuthorizationStatus Status { get; init; }

    public required IReadOnlyList<AcmeChallenge> Challenges { get; init; }

    public bool IsWildcard { get; init; }

    /// <summary>How long the server wants a client to wait before it asks again.</summary>
    public TimeSpan? RetryAfter { get; init; }
}

/// <summary>A challenge of an authorization (RFC 8555, section 8). Immutable.</summary>
/// <param name="Type"><c>http-01</c>, <c>tls-alpn-01</c>, <c>dns-01</c>, or one that this client does not know.</param>
/// <param name="Url">Where the client says that it is ready.</param>
/// <param name="Token">Empty for types without one.</param>
/// <param name="Status">As the server names it: pending, processing, valid, invalid.</param>
/// <param name="Error">Why its validation failed.</param>
internal sealed record AcmeChallenge(string Type, Uri Url, string Token, string Status, ProblemDocument? Error);

internal enum AcmeAuthorizationStatus
{
    Pending,
    Valid,
    Invalid,
    Deactivated,
    Expired,
    Revoked,
}
