using Millrace.Server.Https;

namespace Millrace.Server.Serving;

/// <summary>What a connection meets behind an address. Immutable; each new connection meets the present one.</summary>
/// <param name="Https">TLS; null for an address without.</param>
/// <param name="RedirectPort">Where HTTPS is that plain connections are sent to; null: they are served.</param>
internal sealed record Doorway(HttpsFront? Https, int? RedirectPort);
