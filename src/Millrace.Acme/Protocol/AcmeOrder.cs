namespace Millrace.Acme.Protocol;

/// <summary>An order as the server last described it (RFC 8555, section 7.1.3). Immutable.</summary>
internal sealed record AcmeOrder
{
    public required Uri Url { get; init; }

    public required AcmeOrderStatus Status { get; init; }

    public required IReadOnlyList<AcmeIdentifier> Identifiers { get; init; }

    public required IReadOnlyList<Uri> Authorizations { get; init; }

    public required Uri Finalize { get; init; }

    /// <summary>Where the certificate is, once the status is valid.</summary>
    public Uri? Certificate { get; init; }

    public DateTimeOffset? Expires { get; init; }

    /// <summary>Why it is invalid.</summary>
    public ProblemDocument? Error { get; init; }

    /// <summary>How long the server wants a client to wait before it asks again.</summary>
    public TimeSpan? RetryAfter { get; init; }
}

internal enum AcmeOrderStatus
{
    Pending,
    Ready,
    Processing,
    Valid,
    Invalid,
}
