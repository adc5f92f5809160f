namespace Millrace.Acme.Protocol;

/// <summary>A request that the server refused, or that did not reach it. The message is for operators.</summary>
internal sealed class AcmeException(string message, Exception? cause = null) : Exception(message, cause)
{
    /// <summary>What the server said; null if nothing, or nothing readable, came back.</summary>
    public ProblemDocument? Problem { get; init; }

    /// <summary>How long the server wants a client to wait.</summary>
    public TimeSpan? RetryAfter { get; init; }
}

/// <summary>A problem as a server describes it (RFC 7807; RFC 8555, section 6.7). Immutable.</summary>
/// <param name="Type">The URN, or "about:blank".</param>
/// <param name="Detail">The server's own words; may be empty.</param>
/// <param name="Status">The HTTP status; 0 if not given.</param>
/// <param name="Identifier">What a subproblem is about.</param>
/// <param name="Subproblems">The problems of the identifiers, each by itself.</param>
internal sealed record ProblemDocument(
    string Type, string Detail, int Status, AcmeIdentifier? Identifier, IReadOnlyList<ProblemDocument> Subproblems)
{
    private const string Prefix = "urn:ietf:params:acme:error:";

    /// <summary>The last part of ACME's own types, such as <c>rateLimited</c>; otherwise the whole type.</summary>
    public string Name => Type.StartsWith(Prefix, StringComparison.Ordinal) ? Type[Prefix.Length..] : Type;
}
