namespace Millrace.StaticFiles.Rules;

/// <summary>Where a rule leads, in the scratch of its <see cref="SiteRules.Match"/>.</summary>
internal readonly ref struct RuleTarget
{
    /// <summary>The status of the answer: 301, 302, 303, 307 or 308 of a redirect; 200, 404 or 410 of a rewrite.</summary>
    public int Status { get; init; }

    /// <summary>The value of a redirect's Location: ASCII of URLs only. Empty for a rewrite.</summary>
    public ReadOnlySpan<byte> Location { get; init; }

    /// <summary>The decoded path of the file that answers. Empty for a redirect, and for a bare 404 or 410: its usual page.</summary>
    public ReadOnlySpan<byte> Path { get; init; }
}
