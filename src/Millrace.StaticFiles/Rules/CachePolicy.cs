namespace Millrace.StaticFiles.Rules;

/// <summary>The default Cache-Control of files without a rule, by their names.</summary>
internal static class CachePolicy
{
    /// <summary>
    /// Stored, but revalidated before each use (RFC 9111, section 5.2.2.4): with entity tags this costs a 304, and an old page is never
    /// shown.
    /// </summary>
    public static readonly Field Revalidated = new("Cache-Control", "no-cache");

    /// <summary>A year means "forever" by convention; immutable avoids revalidation when the page is reloaded (RFC 8246).</summary>
    public static readonly Field Immutable = new("Cache-Control", "public, max-age=31536000, immutable");

    /// <summary>The same for sites with a password: shared caches must not store it (RFC 9111, section 3.5).</summary>
    public static readonly Field PrivatelyImmutable = new("Cache-Control", "private, max-age=31536000, immutable");

    /// <summary>Whether a set's field is one of these instances, and not a rule's, which may have the same value.</summary>
    public static bool IsDefault(Field field) => field == Revalidated || field == Immutable || field == PrivatelyImmutable;
}
