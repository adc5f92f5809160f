using System.Text;
using System.Text.RegularExpressions;
using Millrace.StaticFiles.Rules;

namespace Millrace.Models;

/// <summary>Patterns of paths, matched by trying every way: obviously right, and slow. The path is bytes as characters.</summary>
internal sealed partial class ReferencePattern
{
    private readonly string[] _tokens;

    private ReferencePattern(string[] tokens)
    {
        _tokens = tokens;
    }

    /// <summary>Null for what is refused.</summary>
    public static ReferencePattern? Parse(string text, PatternSyntax syntax)
    {
        string[] tokens = [.. Token().Matches(text).Select(token => token.Value)];
        string[] names = [.. tokens.Where(IsPlaceholder)];
        bool hasStar = tokens.Any(IsStar);
        bool isRefused = text.Length is 0 or > PathPattern.CharactersMax
            || text.Any(letter => letter is <= ' ' or '\x7F')
            || text.Contains("//", StringComparison.Ordinal)
            || tokens.Any(token => token is "%" or "%00" || token.Equals("%2f", StringComparison.OrdinalIgnoreCase))
            || names.Distinct().Count() < names.Length
            || Segments(tokens).Any(segment => segment.Count(IsPlaceholder) > 1 || (segment.Any(IsPlaceholder) && segment.Any(IsStar)))
            || (syntax == PatternSyntax.Route
                && (text[0] != '/' || text.AsSpan().ContainsAny('?', '#') || tokens.Count(IsStar) > 1 || (hasStar && names.Contains(":splat"))));
        if (isRefused)
        {
            return null;
        }

        return new ReferencePattern(text[0] is '/' or '*' ? tokens : ["*", "/", .. tokens]);
    }

    public bool IsMatch(string path)
    {
        // reached[i]: whether the tokens so far can take exactly the first i bytes.
        bool[] reached = new bool[path.Length + 1];
        reached[0] = true;
        foreach (string token in _tokens)
        {
            bool[] next = new bool[path.Length + 1];
            foreach (int start in Enumerable.Range(0, reached.Length).Where(start => reached[start]))
            {
                foreach (int end in Ends(token, path, start))
                {
                    next[end] = true;
                }
            }

            reached = next;
        }

        return reached[^1];
    }

    private static IEnumerable<int> Ends(string token, string path, int start)
    {
        if (IsStar(token))
        {
            return Enumerable.Range(start, path.Length - start + 1);
        }

        if (IsPlaceholder(token))
        {
            int slash = path.IndexOf('/', start);
            return Enumerable.Range(start + 1, (slash < 0 ? path.Length : slash) - start);
        }

        if (token == "?")
        {
            return start < path.Length && path[start] != '/' ? [start + 1] : [];
        }

        string literal = token.Length == 3 && token[0] == '%'
            ? ((char)Convert.ToByte(token[1..], 16)).ToString()
            : Latin1.Text(Encoding.UTF8.GetBytes(token));
        return string.CompareOrdinal(path, start, literal, 0, literal.Length) == 0 ? [start + literal.Length] : [];
    }

    private static IEnumerable<string[]> Segments(string[] tokens)
    {
        var segment = new List<string>();
        foreach (string token in tokens.Append("/"))
        {
            if (token == "/")
            {
                yield return [.. segment];
                segment.Clear();
            }
            else
            {
                segment.Add(token);
            }
        }
    }

    private static bool IsStar(string token) => token[0] == '*';

    private static bool IsPlaceholder(string token) => token.Length > 1 && token[0] == ':';

    [GeneratedRegex(@"\*+|:[A-Za-z][A-Za-z0-9_]*|%[0-9A-Fa-f]{2}|[\uD800-\uDBFF][\uDC00-\uDFFF]|.", RegexOptions.Singleline)]
    private static partial Regex Token();
}
