namespace Millrace.StaticFiles;

/// <summary>A query parameter that a <see cref="RedirectRule"/> asks for.</summary>
/// <param name="Name">The parameter's name, not percent-encoded.</param>
/// <param name="Value">What it must be, or <c>:name</c> for anything, which the rule's target may then use.</param>
public sealed record QueryCondition(string Name, string Value);
