using Millrace.Server.Service;

namespace Millrace.Server.Doctor;

/// <summary>The user who would serve.</summary>
/// <param name="Name">As it was told.</param>
/// <param name="Problem">Why there is no such user, or nothing can be told of what he may read; null where that can be told.</param>
/// <param name="Withheld">What he may not open again when a server reloads.</param>
internal sealed record UserFacts(string Name, string? Problem, IReadOnlyList<Withheld> Withheld);
