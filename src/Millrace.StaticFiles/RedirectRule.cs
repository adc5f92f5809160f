namespace Millrace.StaticFiles;

/// <summary>Sends requests elsewhere: a redirect, or with status 200, 404 or 410 a rewrite that the client does not see.</summary>
/// <param name="From">
/// The paths: exact, with one <c>*</c> for any bytes, and with <c>:name</c> for the rest of a segment.
/// </param>
/// <param name="To">
/// Where to: a path, or for redirects an http(s) URL. <c>:splat</c> is what the <c>*</c> stood for, <c>:name</c> what a placeholder
/// did. Empty with 404 and 410 for their usual page. A rewrite is applied once: its target is not rewritten again.
/// </param>
/// <param name="Status">301 (default), 302, 303, 307 or 308 to redirect; 200, 404 or 410 to answer with another file.</param>
public sealed record RedirectRule(string From, string To, int Status = 301)
{
    /// <summary>Whether the rule goes before a file of that path. Default: no, a file that exists is served.</summary>
    public bool Forced { get; init; }

    /// <summary>
    /// The query parameters that must be there too. Those are not passed on; all others are, unless the target has a query.
    /// Default: none.
    /// </summary>
    public IReadOnlyList<QueryCondition> Query { get; init; } = [];
}
