using System.Net;

namespace Millrace.Server.Admin;

/// <summary>What was asked for beside serving: pages for who runs the server, and where to send its measurements.</summary>
internal sealed record AdminOptions
{
    /// <summary>Where the admin pages are; null: nowhere.</summary>
    public EndPoint? Address { get; init; }

    /// <summary>Names, besides addresses and this machine's own, that the pages are asked for by.</summary>
    public IReadOnlyList<string> Hosts { get; init; } = [];

    /// <summary>The collector that measurements are sent to (OTLP); null: none.</summary>
    public Uri? Collector { get; init; }
}
