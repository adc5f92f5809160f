namespace Millrace.Server.Probe;

/// <summary>What a probe found, in one line.</summary>
internal sealed record ProbeResult(bool IsHealthy, string Text);
