namespace Millrace.Server.Service;

/// <summary>What the process gives up once it has what it needs.</summary>
/// <param name="User">As whom it serves: <c>NAME[:GROUP]</c>; null: as whoever started it.</param>
/// <param name="FiltersCalls">Whether system calls that a server has no use for are refused.</param>
internal sealed record ServiceOptions(string? User = null, bool FiltersCalls = false);
