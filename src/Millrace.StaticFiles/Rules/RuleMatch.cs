namespace Millrace.StaticFiles.Rules;

/// <summary>What the redirects and rewrites say about a request.</summary>
internal enum RuleMatch
{
    /// <summary>Nothing: the request is answered as if there were no rules.</summary>
    None,

    /// <summary>The client is to go to <see cref="RuleTarget.Location"/>.</summary>
    Redirect,

    /// <summary>
    /// The file at <see cref="RuleTarget.Path"/> answers, with the target's status. It is looked up once and not matched again, so
    /// that rules cannot chase each other.
    /// </summary>
    Rewrite,

    /// <summary>A rule matches, but what it leads to does not fit the scratch: 414.</summary>
    TooLong,
}
