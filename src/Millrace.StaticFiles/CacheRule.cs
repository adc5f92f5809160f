namespace Millrace.StaticFiles;

/// <summary>The Cache-Control of the files a pattern matches.</summary>
/// <param name="Pattern">
/// A path as <c>/assets/*</c>, or a name in any directory as <c>*.css</c>. <c>*</c> stands for any bytes, slashes
/// included; <c>?</c> for one byte but '/'; <c>:name</c> for the rest of a segment. A literal one is written %2A, %3F, %3A.
/// </param>
/// <param name="Value">The field's value, as <c>public, max-age=3600</c>.</param>
public sealed record CacheRule(string Pattern, string Value);
