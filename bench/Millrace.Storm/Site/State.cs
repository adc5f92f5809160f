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

    /// <summary>Whether bytes from the beginning of the file can be of this moment of writing.</summary>
    public bool CanBeTornInto(long offset, ReadOnlySpan<byte> bytes)
    {
        Span<byte> next = stackalloc byte[Site.Edition.LineBytes];
        Span<byte> last = stackalloc byte[Site.Edition.LineBytes];
        for (int start = 0; start < bytes.Length; start += next.Length)
        {
            ReadOnlySpan<byte> part = bytes[start..Math.Min(start + next.Length, bytes.Length)];
            long at = offset + start;
            Edition!.Value.Fill(at, next);
            (Replaced ?? Edition.Value).Fill(at, last);
            for (int i = 0; i < part.Length; i++)
            {
                if (part[i] != next[i] && part[i] != last[i])
                {
                    return false;
                }
            }
        }

        return true;
    }
}
