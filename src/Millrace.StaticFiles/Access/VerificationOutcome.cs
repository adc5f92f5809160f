namespace Millrace.StaticFiles.Access;

/// <summary>What became of credentials that needed a hash.</summary>
internal enum VerificationOutcome
{
    /// <summary>No such user, or not their password: 401 with the challenge.</summary>
    Denied,

    /// <summary>They are right, and granted at once for the next minutes.</summary>
    Granted,

    /// <summary>Too many others wait for a hash, or the site is being closed: 503 with Retry-After.</summary>
    Overloaded,
}
