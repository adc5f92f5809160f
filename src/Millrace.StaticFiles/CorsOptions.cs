namespace Millrace.StaticFiles;

/// <summary>
/// Which origins' scripts may read the files of this site. Always without credentials: content that needs a cookie is not shared (Fetch
/// standard, section 3.3).
/// </summary>
public sealed record CorsOptions
{
    /// <summary>
    /// The allowed origins, as <c>https://app.example</c>; <c>*</c> alone allows any. Default: any, for files that everybody may fetch.
    /// </summary>
    public IReadOnlyList<string> Origins { get; init; } = ["*"];

    /// <summary>How long a browser may cache a preflight response, in seconds. Default 7200, the most that Chromium honours.</summary>
    public int MaxAgeSeconds { get; init; } = 7200;
}
