namespace Millrace.Acme.Protocol;

/// <summary>A request that the server refused, or that did not reach it. The message is for operators.</summary>
internal sealed class AcmeException(string message, Exception? cause = null) : Exception(message, cause)
{
    /// <summary>
    /// What the server said: of type "about:blank" where it refused with no more than an HTTP status; null if nothing, or nothing readable,
    /// came back.
    /// </summary>
    public ProblemDocument? Problem { get; init; }

    /// <summary>How long the server wants a client to wait.</summary>
    public TimeSpan? RetryAfter { get; init; }
}
