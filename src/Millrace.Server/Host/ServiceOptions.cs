namespace Millrace.Server.Host;

/// <summary>Privileges that the process drops after its start.</summary>
/// <param name="User">The user to run as: <c>NAME[:GROUP]</c>; null to keep the current user.</param>
/// <param name="FiltersCalls">Whether system calls that serving does not need are denied.</param>
internal sealed record ServiceOptions(string? User = null, bool FiltersCalls = false);
