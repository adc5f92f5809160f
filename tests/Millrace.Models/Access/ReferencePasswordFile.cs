using System.Text.RegularExpressions;

namespace Millrace.Models;

/// <summary>An htpasswd file by regular expressions: names and hashes, or null where one line is bad and the file therefore is.</summary>
internal static partial class ReferencePasswordFile
{
    public static SortedDictionary<string, string>? Read(string text)
    {
        text = text.StartsWith("\xEF\xBB\xBF", StringComparison.Ordinal) ? text[3..] : text;
        var users = new SortedDictionary<string, string>(StringComparer.Ordinal);
        foreach (string line in text.Split('\n').Select(line => line.Trim(' ', '\t', '\r')).Where(line => line != "" && line[0] != '#'))
        {
            Match match = User().Match(line);
            if (!match.Success || !Hash().IsMatch(match.Groups["hash"].Value) || !users.TryAdd(match.Groups["user"].Value, match.Groups["hash"].Value))
            {
                return null;
            }
        }

        return users;
    }

    [GeneratedRegex(@"\A(?<user>[^:\x00-\x1F\x7F]{1,255}):(?<hash>[^:]*)(:.*)?\z", RegexOptions.Singleline)]
    private static partial Regex User();

    private const string Bcrypt = @"\$2[aby]\$(0[4-9]|[12][0-9]|3[01])\$[./0-9A-Za-z]{53}";
    private const string Rounds = @"(rounds=0*[1-9][0-9]{3,8}\$|(?!rounds=))";
    private const string Yescrypt = @"\$y\$[./0-9A-Za-z]+\$[./0-9A-Za-z]*\$[./0-9A-Za-z]{43}";

    [GeneratedRegex(
        $@"\A({Bcrypt}|\$6\${Rounds}[^$]{{0,16}}\$[./0-9A-Za-z]{{86}}|\$5\${Rounds}[^$]{{0,16}}\$[./0-9A-Za-z]{{43}}|{Yescrypt})\z",
        RegexOptions.Singleline)]
    private static partial Regex Hash();
}
