namespace Millrace.Server.Admin.Dashboard;

/// <summary>What happened in about a second.</summary>
internal sealed record StatsSample
{
    /// <summary>Its number, rising by one; the first is 1.</summary>
    public required long Number { get; init; }

    /// <summary>When it ended, in milliseconds since 1970.</summary>
    public required long AtMs { get; init; }

    /// <summary>How long it was.</summary>
    public required double Seconds { get; init; }

    /// <summary>Requests by the first digit of their status; those without an answer have 0.</summary>
    public required IReadOnlyList<long> ByClass { get; init; }

    /// <summary>Of them, those whose client had the answer already (304).</summary>
    public required long NotModified { get; init; }

    public required long BodyBytes { get; init; }

    /// <summary>By where the body came from, as <see cref="Web.Exchanges.ExchangeBody"/> numbers it.</summary>
    public required IReadOnlyList<long> ByOrigin { get; init; }

    /// <summary>Bodies by <see cref="Http.ContentCoding"/>.</summary>
    public required IReadOnlyList<long> ByCoding { get; init; }

    /// <summary>The duration that half of the requests were not above; null where there were none.</summary>
    public required double? MedianSeconds { get; init; }

    /// <summary>The same for 99 of 100.</summary>
    public required double? TailSeconds { get; init; }

    /// <summary>Connections that were open at its end.</summary>
    public required long Connections { get; init; }

    public required long Accepted { get; init; }

    /// <summary>Connections beyond a limit: reset, or told so.</summary>
    public required long TurnedAway { get; init; }

    /// <summary>For each reactor how long something waited in its loop at worst.</summary>
    public required IReadOnlyList<double> LagSeconds { get; init; }
}
