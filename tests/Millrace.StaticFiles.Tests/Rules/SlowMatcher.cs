namespace Millrace.StaticFiles.Tests.Rules;

/// <summary>Patterns of plain characters, matched by trying every way: obviously right, and exponential.</summary>
internal static class SlowMatcher
{
    public static bool IsMatch(string pattern, string path) =>
        pattern[0] is '/' or '*' ? Matches(pattern, path) : Matches("*/" + pattern, path);

    private static bool Matches(ReadOnlySpan<char> pattern, ReadOnlySpan<char> path)
    {
        if (pattern.IsEmpty)
        {
            return path.IsEmpty;
        }

        if (pattern[0] == '*')
        {
            return Matches(pattern[1..], path) || (!path.IsEmpty && Matches(pattern, path[1..]));
        }

        if (pattern[0] == ':' && pattern.Length > 1 && char.IsAsciiLetter(pattern[1]))
        {
            int name = 1;
            while (name < pattern.Length && (char.IsAsciiLetterOrDigit(pattern[name]) || pattern[name] == '_'))
            {
                name++;
            }

            for (int bytes = 1; bytes <= path.Length && path[bytes - 1] != '/'; bytes++)
            {
                if (Matches(pattern[name..], path[bytes..]))
                {
                    return true;
                }
            }

            return false;
        }

        return !path.IsEmpty
            && (pattern[0] == '?' ? path[0] != '/' : path[0] == pattern[0])
            && Matches(pattern[1..], path[1..]);
    }
}
