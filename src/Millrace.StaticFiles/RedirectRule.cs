namespace Millrace.StaticFiles;

/// <summary>Redirects requests, or with status 200, 404 or 410 rewrites them without the client seeing it.</summary>
/// <param name="From">
/// The paths to match: exact, with one <c>*</c> for any bytes, and with <c>:name</c> for the remaining part of a segment.
/// </param>
/// <param name="To">
/// The target: a path, or for redirects an http(s) URL. <c>:splat</c> inserts what <c>*</c> matched, <c>:name</c> what that placeholder
/// matched. Empty with 404 and 410 for the usual error page. A rewrite is applied once: its target is not rewritten again.
/// </param>
/// <param name="Status">301 (default), 302, 303, 307 or 308 to redirect; 200, 404 or 410 to respond with another file.</param>
public sealed record RedirectRule(string From, string To, int Status = 301)
{
    /// <summary>Whether the rule applies even if a file exists at that path. Default: no, an existing file is served.</summary>
    public bool Forced { get; init; }

    /// <summary>
    /// Query parameters that the request must have. They are not passed on; all others are, unless the target has a query. Default: none.
    /// </summary>
    public IReadOnlyList<QueryCondition> Query { get; init; } = [];
}

/// <summary>A query parameter that a <see cref="RedirectRule"/> requires.</summary>
/// <param name="Name">The parameter's name, not percent-encoded.</param>
/// <param name="Value">The required value, or <c>:name</c> for any value, which the rule's target can then use.</param>
public sealed record QueryCondition(string Name, string Value);
