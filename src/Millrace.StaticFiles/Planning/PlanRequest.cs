using Millrace.Http;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// A request as far as a static site cares, whatever version of HTTP brought it. A field that is absent is empty; the lines of one that
/// came in several are joined by a comma (RFC 9110, section 5.3). Borrows the caller's memory.
/// </summary>
internal readonly ref struct PlanRequest
{
    public RequestMethod Method { get; init; }

    /// <summary>The path of the target as it was sent, percent-encoded; empty for "OPTIONS *".</summary>
    public ReadOnlySpan<byte> Path { get; init; }

    /// <summary>The query as it was sent, without its '?'; empty for none.</summary>
    public ReadOnlySpan<byte> Query { get; init; }

    public ConditionFields Conditions { get; init; }

    public ReadOnlySpan<byte> Accept { get; init; }

    public ReadOnlySpan<byte> AcceptEncoding { get; init; }

    /// <summary>
    /// The last segment of the path that the site stands under, where that was asked for without the slash that its root has: references
    /// of a page there would be to what is beside the site. Empty in all other cases.
    /// </summary>
    public ReadOnlySpan<byte> Base { get; init; }

    /// <summary>
    /// The status of an error that was decided on elsewhere, where the path is that of its page; 0, as a rule, for none.
    /// </summary>
    public int ErrorStatus { get; init; }

    /// <summary>What the credentials are worth; <see cref="Admission.Granted"/> where the site asks for none.</summary>
    public Admission Admission { get; init; }

    /// <summary>Whether the plan may be <see cref="Plan.Preparation"/>: true once for each request, so that it gets ahead.</summary>
    public bool MayWait { get; init; }

    public ReadOnlySpan<byte> Origin { get; init; }

    public ReadOnlySpan<byte> AccessControlRequestMethod { get; init; }
}
