namespace Millrace.Storm.Site;

/// <summary>
/// What a path was, from just before the system call that made it so to just after the one that ended it (ticks of Stopwatch).
/// </summary>
/// <param name="Edition">What the file held; null where there was none.</param>
/// <param name="Bytes">How much of the edition: a truncated file holds its beginning.</param>
/// <param name="From">Since when.</param>
internal sealed record State(Edition? Edition, long Bytes, long From)
{
    public long Until { get; set; } = long.MaxValue;

    /// <summary>The file was being written in place: it could be the edition, <see cref="Replaced"/>, or some of both.</summary>
    public bool IsTorn { get; init; }

    public Edition? Replaced { get; init; }
}
