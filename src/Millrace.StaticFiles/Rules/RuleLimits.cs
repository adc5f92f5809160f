namespace Millrace.StaticFiles.Rules;

/// <summary>Limits on rules, which a site of thousands of pages does not reach, but a mistake or an attacker does.</summary>
internal static class RuleLimits
{
    /// <summary>Each block is tried for each request: 2,000 take about ten microseconds.</summary>
    public const int HeaderBlocksMax = 2000;

    /// <summary>Fields of a block of <c>_headers</c>, distinct names in the whole file, and fields of a response.</summary>
    public const int FieldsMax = 250;

    /// <summary>For each list of rules among the options.</summary>
    public const int OptionRulesMax = 1000;

    /// <summary>
    /// Routes with wildcards, which are tried one by one. Exact routes are found by hash, and only the size of their file limits them.
    /// </summary>
    public const int PatternRoutesMax = 2000;

    /// <summary>Captures of one route: placeholders, '*' and query parameters.</summary>
    public const int CapturesMax = 16;

    /// <summary>
    /// Field sets kept for reuse. A site has some dozens; if it has unlimited paths (a single-page application answers all), further sets
    /// are made for each request.
    /// </summary>
    public const int FieldSetsMax = 4096;

    /// <summary>Longer than Netlify and Cloudflare allow (2,000), with room for the longest value.</summary>
    public const int LineBytesMax = 16 * 1024;

    /// <summary>Warnings kept for each file.</summary>
    public const int WarningsMax = 100;
}
