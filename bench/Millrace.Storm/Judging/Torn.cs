using Millrace.Storm.Site;

namespace Millrace.Storm.Judging;

/// <summary>
/// What may be seen of a file that is written in place: each byte is that of one of its versions of the time. A slow download may
/// see more than two.
/// </summary>
internal static class Torn
{
    public static bool Explains(List<State> states, long offset, ReadOnlySpan<byte> bytes)
    {
        if (!states.Exists(static state => state.IsTorn))
        {
            return false;
        }

        Edition[] editions = [.. states.SelectMany(EditionsOf).Distinct()];
        Span<byte> expected = stackalloc byte[Edition.LineBytes];
        Span<bool> isExplained = stackalloc bool[Edition.LineBytes];
        for (int start = 0; start < bytes.Length; start += Edition.LineBytes)
        {
            ReadOnlySpan<byte> line = bytes[start..Math.Min(start + Edition.LineBytes, bytes.Length)];
            isExplained.Clear();
            foreach (Edition edition in editions)
            {
                edition.Fill(offset + start, expected);
                for (int i = 0; i < line.Length; i++)
                {
                    isExplained[i] |= line[i] == expected[i] && offset + start + i < edition.Length;
                }
            }

            if (isExplained[..line.Length].Contains(false))
            {
                return false;
            }
        }

        return true;
    }

    private static IEnumerable<Edition> EditionsOf(State state) =>
        ((Edition?[])[state.Edition, state.Replaced]).Where(static edition => edition is not null).Select(static edition => edition!.Value);
}
