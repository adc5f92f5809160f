namespace Millrace.StaticFiles.Rules;

/// <summary>Limits on rules: what a site of thousands of pages does not reach, and a mistake or an attacker does.</summary>
internal static class RuleLimits
{
    /// <summary>Each is tried for each request: 2,000 take some ten microseconds.</summary>
    public const int HeaderBlocksMax = 2000;

    /// <summary>Fields of a block of <c>_headers</c>, different names in all of it, and fields of an answer.</summary>
    public const int FieldsMax = 250;

    /// <summary>Of each list of rules among the options.</summary>
    public const int OptionRulesMax = 1000;

    /// <summary>
    /// Routes with wildcards, which are tried one by one. Exact ones are found by hash, and only their file's size limits them.
    /// </summary>
    public const int PatternRoutesMax = 2000;

    /// <summary>Captures of one route: placeholders, '*' and query parameters.</summary>
    public const int CapturesMax = 16;

    /// <summary>
    /// Field sets kept for reuse. A site has some dozens; where paths are endless (a single-page application answers all), those
    /// beyond are made anew for each request.
    /// </summary>
    public const int FieldSetsMax = 4096;

    /// <summary>Longer than what Netlify or Cloudflare take (2,000), and room for the longest value.</summary>
    public const int LineBytesMax = 16 * 1024;

    /// <summary>Warnings kept of one file.</summary>
    public const int WarningsMax = 100;
}
