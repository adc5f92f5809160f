namespace Millrace.Server.Configuration;

internal static class SpellingSuggestion
{
    /// <summary>The most similar name, or null if none is similar. Ignores case, dashes and underscores.</summary>
    public static string? Nearest(string word, IEnumerable<string> names)
    {
        string plain = Plain(word);
        return names
            .Select(name => (Name: name, Distance: Distance(plain, Plain(name))))
            .Where(found => found.Distance <= Math.Clamp(plain.Length / 4, 1, 3))
            .OrderBy(static found => found.Distance)
            .FirstOrDefault()
            .Name;
    }

    private static string Plain(string name) => string.Concat(name.Where(char.IsAsciiLetterOrDigit)).ToLowerInvariant();

    /// <summary>The number of insertions, deletions, substitutions and swaps of neighbours (optimal string alignment distance).</summary>
    private static int Distance(string from, string to)
    {
        int[,] costs = new int[from.Length + 1, to.Length + 1];
        for (int i = 0; i <= from.Length; i++)
        {
            for (int j = 0; j <= to.Length; j++)
            {
                costs[i, j] = Cost(costs, from, to, i, j);
            }
        }

        return costs[from.Length, to.Length];
    }

    private static int Cost(int[,] costs, string from, string to, int i, int j)
    {
        if (i == 0 || j == 0)
        {
            return i + j;
        }

        int changed = costs[i - 1, j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
        int least = Math.Min(changed, Math.Min(costs[i - 1, j], costs[i, j - 1]) + 1);
        bool isSwap = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
        return isSwap ? Math.Min(least, costs[i - 2, j - 2] + 1) : least;
    }
}
