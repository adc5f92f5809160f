using Millrace.Simulation.Tests.Faults;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>What became of a run.</summary>
internal sealed record RunReport(ulong Seed, int Connections, int Proxied, int Tunnels, FaultCounts FaultCounts, ulong Digest, Violation? Violation);
