namespace Millrace.StaticFiles;

/// <summary>A response field that answers carry whose path a pattern matches.</summary>
/// <param name="Pattern">The paths: see <see cref="CacheRule"/>. <c>*</c> is every path.</param>
/// <param name="Name">The field's name. Fields that the server itself answers for (Content-Length, ETag and the like) are refused.</param>
/// <param name="Value">The field's value.</param>
public sealed record FieldRule(string Pattern, string Name, string Value);
