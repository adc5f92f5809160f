namespace Millrace.Http;

/// <summary>What the preconditions of a GET or HEAD come to (RFC 9110 section 13.2.2).</summary>
internal enum PreconditionOutcome
{
    /// <summary>Answer as if there were none; of Range see <see cref="Preconditions.RangeApplies"/>.</summary>
    Proceed,

    /// <summary>304.</summary>
    NotModified,

    /// <summary>412.</summary>
    Failed,
}
