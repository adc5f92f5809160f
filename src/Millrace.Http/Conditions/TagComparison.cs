namespace Millrace.Http;

/// <summary>How entity-tags are compared (RFC 9110 section 8.8.3.2).</summary>
internal enum TagComparison
{
    /// <summary>The opaque tags are the same.</summary>
    Weak,

    /// <summary>They are, and neither tag is weak.</summary>
    Strong,
}
