using Millrace.StaticFiles.Access;

namespace Millrace.StaticFiles.Planning;

/// <summary>Converts the results of credential checks. Every result that is not a grant denies the request.</summary>
internal static class AccessDecisions
{
    public static AccessDecision Of(CredentialDecision decision) => decision switch
    {
        CredentialDecision.Granted => AccessDecision.Granted,
        CredentialDecision.Unverified => AccessDecision.Unverified,
        _ => AccessDecision.Denied,
    };

    public static AccessDecision Of(VerificationOutcome outcome) => outcome switch
    {
        VerificationOutcome.Granted => AccessDecision.Granted,
        VerificationOutcome.Overloaded => AccessDecision.Overloaded,
        _ => AccessDecision.Denied,
    };
}

/// <summary>Whether a request may be answered with the site's content. The default value denies: an undecided request is refused.</summary>
internal enum AccessDecision : byte
{
    /// <summary>No credentials, or wrong ones: 401.</summary>
    Denied,

    Granted,

    /// <summary>The credentials are new and need verification.</summary>
    Unverified,

    /// <summary>The verification queue is full: 503.</summary>
    Overloaded,
}
