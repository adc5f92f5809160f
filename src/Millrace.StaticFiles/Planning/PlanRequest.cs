using System.Net;
using Millrace.Http;
using Millrace.StaticFiles.Access;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// A request as far as a static site needs it, in any HTTP version. An absent field is empty; several lines of a field are joined by commas
/// (RFC 9110, section 5.3). Borrows the caller's memory.
/// </summary>
internal readonly ref struct PlanRequest
{
    public Method Method { get; init; }

    /// <summary>The path of the target as sent, percent-encoded; empty for "OPTIONS *".</summary>
    public ReadOnlySpan<byte> Path { get; init; }

    /// <summary>The query as sent, without its '?'; empty for none.</summary>
    public ReadOnlySpan<byte> Query { get; init; }

    public ConditionFields Conditions { get; init; }

    public ReadOnlySpan<byte> Accept { get; init; }

    public ReadOnlySpan<byte> AcceptEncoding { get; init; }

    /// <summary>
    /// The last segment of the path that the site is mounted at, if the request lacks the slash at the end of that path: relative
    /// references of a page would then resolve outside the site. Empty in all other cases.
    /// </summary>
    public ReadOnlySpan<byte> Base { get; init; }

    /// <summary>The status of an error that was decided elsewhere, if the path is that of its page; otherwise 0.</summary>
    public int ErrorStatus { get; init; }

    /// <summary>The client's address; null if it has none, as over a unix socket.</summary>
    public IPAddress? Client { get; init; }

    /// <summary>The credentials; not read if the site asks for none.</summary>
    public ReadOnlySpan<byte> Authorization { get; init; }

    /// <summary>The result of the <see cref="ResponsePlan.Verifier"/> that it has waited for.</summary>
    public AuthenticationResult Verified { get; init; }

    /// <summary>The rules whose <see cref="ResponsePlan.ForwardAuth"/> services have let it pass.</summary>
    public ReadOnlySpan<ForwardAuthRule> Authorized { get; init; }

    /// <summary>Whether the server itself asks, without a client: rules about access do not apply.</summary>
    public bool IsInternal { get; init; }

    /// <summary>The <see cref="ResponsePlan.Preparation"/> that it has waited for; null at first.</summary>
    public ListingPreparation? Prepared { get; init; }

    /// <summary>
    /// The time of planning, in seconds since 1970: a modification date is a strong validator only after its second has passed. 0 if
    /// unknown, which makes dates weak.
    /// </summary>
    public long UnixSeconds { get; init; }

    public ReadOnlySpan<byte> Origin { get; init; }

    /// <summary>What decides about dictionaries; not read for a site without them.</summary>
    public DictionaryFields Dictionary { get; init; }

    public ReadOnlySpan<byte> AccessControlRequestMethod { get; init; }
}

/// <summary>What of a request decides about dictionaries (RFC 9842). Borrows the caller's memory.</summary>
internal readonly ref struct DictionaryFields
{
    /// <summary>Whether the client uses https, also with a trusted proxy.</summary>
    public bool IsHttps { get; init; }

    /// <summary>Available-Dictionary: the one that the client has.</summary>
    public ReadOnlySpan<byte> Available { get; init; }

    public ReadOnlySpan<byte> SecFetchMode { get; init; }

    public ReadOnlySpan<byte> SecFetchSite { get; init; }
}

/// <summary>Whether a request may be answered with the site's content. The default value denies: an undecided request is refused.</summary>
internal enum AccessDecision : byte
{
    /// <summary>No credentials, or wrong ones: 401 with the challenge.</summary>
    Denied,

    /// <summary>Nothing is asked for, or the credentials were verified within the last minutes.</summary>
    Granted,

    /// <summary>The client's address may not see it, with any credentials: 403.</summary>
    Forbidden,

    /// <summary>
    /// The credentials are new and need a hash: <see cref="BasicAuthentication.VerifyAsync"/>. Or a service must be asked.
    /// </summary>
    Unverified,

    /// <summary>Too many requests wait for a hash, or the site is being closed: 503 with Retry-After.</summary>
    Overloaded,
}
