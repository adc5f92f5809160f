namespace Millrace.Server.Admin.Dashboard;

/// <summary>Statistics of about one second.</summary>
internal sealed record StatsSample
{
    /// <summary>Consecutive number; the first is 1.</summary>
    public required long Number { get; init; }

    /// <summary>The end of the interval, in milliseconds since 1970.</summary>
    public required long AtMs { get; init; }

    /// <summary>The length of the interval.</summary>
    public required double Seconds { get; init; }

    /// <summary>Requests by the first digit of their status; 0 for those without a response.</summary>
    public required IReadOnlyList<long> ByClass { get; init; }

    /// <summary>Requests with status 304.</summary>
    public required long NotModified { get; init; }

    public required long BodyBytes { get; init; }

    /// <summary>Requests by source of the body, indexed by <see cref="HttpServer.Exchanges.ResponseBodySource"/>.</summary>
    public required IReadOnlyList<long> ByOrigin { get; init; }

    /// <summary>Bodies, indexed by <see cref="Http.ContentCoding"/>.</summary>
    public required IReadOnlyList<long> ByCoding { get; init; }

    /// <summary>The median duration; null without requests.</summary>
    public required double? MedianSeconds { get; init; }

    /// <summary>The 99th percentile of durations; null without requests.</summary>
    public required double? TailSeconds { get; init; }

    /// <summary>Open connections at the end of the interval.</summary>
    public required long Connections { get; init; }

    public required long Accepted { get; init; }

    /// <summary>Connections above a limit: reset, or refused with 503.</summary>
    public required long TurnedAway { get; init; }

    /// <summary>The worst loop lag of each reactor.</summary>
    public required IReadOnlyList<double> LagSeconds { get; init; }
}
