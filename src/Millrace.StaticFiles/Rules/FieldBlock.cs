namespace Millrace.StaticFiles.Rules;

/// <summary>Edits of the fields of answers whose path a pattern matches.</summary>
internal sealed record FieldBlock(PathPattern Pattern, IReadOnlyList<FieldEdit> Edits);
