namespace Millrace.StaticFiles;

/// <summary>
/// Which other sites' scripts may read this one's files. Without credentials: what needs a cookie is not shared
/// (Fetch standard, section 3.3).
/// </summary>
public sealed record CorsOptions
{
    /// <summary>
    /// The origins, as <c>https://app.example</c>; <c>*</c> alone is any. Default: any, as suits files that everybody may fetch.
    /// </summary>
    public IReadOnlyList<string> Origins { get; init; } = ["*"];

    /// <summary>How long a browser may remember a preflight's answer, in seconds. Default 7200, the most Chromium heeds.</summary>
    public int MaxAgeSeconds { get; init; } = 7200;
}
