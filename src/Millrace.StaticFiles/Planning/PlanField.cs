namespace Millrace.StaticFiles.Planning;

/// <summary>One more field of an answer, beside those of its asset and of the site's rules.</summary>
/// <param name="Name">One of <see cref="PlanFieldName"/>.</param>
/// <param name="Start">Where its value starts in the scratch memory of the plan.</param>
/// <param name="Length">The bytes of its value.</param>
internal readonly record struct PlanField(PlanFieldName Name, int Start, int Length);
