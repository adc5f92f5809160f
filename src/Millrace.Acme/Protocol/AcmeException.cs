namespace Millrace.Acme.Protocol;

/// <summary>A request that the server refused, or that did not reach it. The message is for operators.</summary>
internal sealed class AcmeException(string message, Exception? cause = null) : Exception(message, cause)
{
    /// <summary>
    /// What the server said: of type "about:blank" where it refused with no more than an HTTP status; null if nothing, or nothing readable,
    /// came back.
    /// </summary>
    public ProblemDocument? Problem { get; init; }

    /// <summary>
    /// What the server said of an order or of a challenge that failed. Unlike <see cref="Problem"/> it is not about the request, nor about
    /// who made it: <c>unauthorized</c> is a wrong answer to a challenge here.
    /// </summary>
    public ProblemDocument? OrderProblem { get; init; }

    /// <summary>The kind of problem in one word of a fixed set.</summary>
    public string ErrorType => (Problem ?? OrderProblem)?.KnownName ?? ProblemDocument.Other;

    /// <summary>Something came back, and is not what RFC 8555 allows.</summary>
    public bool IsMalformed { get; init; }

    /// <summary>How long the server wants a client to wait.</summary>
    public TimeSpan? RetryAfter { get; init; }
}
