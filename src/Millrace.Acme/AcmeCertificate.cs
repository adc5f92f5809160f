namespace Millrace.Acme;

/// <summary>One certificate that is obtained and renewed, as it is at a moment. Immutable.</summary>
public sealed record AcmeCertificate
{
    /// <summary>The hosts and addresses that it is for.</summary>
    public required IReadOnlyList<string> Names { get; init; }

    /// <summary>The kind of its key: one.</summary>
    public AcmeKeyKinds KeyKind { get; init; }

    /// <summary>
    /// The file with its chain and its private key, in PEM. Until it is obtained, that of an earlier certificate that is valid for some of
    /// its names; null for none. The file is only ever replaced as a whole.
    /// </summary>
    public string? File { get; init; }

    /// <summary>The end of the validity of what <see cref="File"/> has; null for none.</summary>
    public DateTimeOffset? NotAfter { get; init; }

    /// <summary>When it is ordered or renewed next, at the earliest; null while that is under way.</summary>
    public DateTimeOffset? NextRenewal { get; init; }

    /// <summary>When the last attempt ended; null before the first.</summary>
    public DateTimeOffset? LastAttempt { get; init; }

    /// <summary>Why the last attempt failed, in a sentence for operators; null if it did not.</summary>
    public string? LastError { get; init; }

    /// <summary>
    /// The same in one word of a fixed set: a type of problem of RFC 8555, section 6.7, such as <c>dns</c> or <c>rateLimited</c>, or
    /// <c>other</c>; null if it did not.
    /// </summary>
    public string? LastErrorType { get; init; }

    /// <summary>The attempts that failed since the last that succeeded.</summary>
    public int Failures { get; init; }
}
