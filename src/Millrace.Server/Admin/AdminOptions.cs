using System.Net;

namespace Millrace.Server.Admin;

/// <summary>Options of the admin pages and of metrics export.</summary>
internal sealed record AdminOptions
{
    /// <summary>Address of the admin pages; null for none.</summary>
    public EndPoint? Address { get; init; }

    /// <summary>Allowed host names, in addition to IP addresses and localhost.</summary>
    public IReadOnlyList<string> Hosts { get; init; } = [];

    /// <summary>URL of the OTLP collector for metrics; null for none.</summary>
    public Uri? Collector { get; init; }
}
