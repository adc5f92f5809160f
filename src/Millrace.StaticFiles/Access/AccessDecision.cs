namespace Millrace.StaticFiles.Access;

/// <summary>What a request's credentials are worth, as far as it can be said at once.</summary>
internal enum AccessDecision
{
    /// <summary>There are none, or they are malformed: 401 with the challenge.</summary>
    Denied,

    /// <summary>They were verified within the last minutes.</summary>
    Granted,

    /// <summary>It takes a hash to say: <see cref="BasicAuthentication.VerifyAsync"/>.</summary>
    Unverified,
}
