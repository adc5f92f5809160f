using System.Text.RegularExpressions;

namespace Millrace.Models;

/// <summary>A line of <c>_redirects</c> by one regular expression over its words: <c>FROM [name=value...] [TO] [STATUS[!]]</c>.</summary>
internal static partial class ReferenceRedirectLine
{
    /// <summary>The rule in words, or null for what is refused.</summary>
    public static string? Read(string line, int defaultStatus)
    {
        string[] words = [.. line.Split(' ', '\t').Where(word => word != "")];
        string sentence = string.Join(' ', words.TakeWhile(word => word[0] != '#'));
        Match match = Form().Match(sentence);
        if (!match.Success)
        {
            return null;
        }

        string[] from = match.Groups["from"].Value.Split('?', 2);
        string[] query = [.. from.Skip(1).SelectMany(text => text.Split('&')).Where(text => text != "")
            .Concat(match.Groups["query"].Captures.Select(capture => capture.Value[1..]))];
        if (query.Any(parameter => parameter.IndexOf('=', StringComparison.Ordinal) < 1))
        {
            return null;
        }

        string status = match.Groups["status"] is { Success: true, Value: var reported } ? reported : $"{defaultStatus}";
        string demands = string.Join('&', query.Select(parameter => string.Join('=', parameter.Split('=', 2).Select(Uri.UnescapeDataString))));
        return $"{from[0]} {demands} {match.Groups["to"].Value} {int.Parse(status[..3], null)} {status.Length == 4}";
    }

    // A parameter is a word with '=' that is no target and no status; in front of a target or a status, or at the end.
    [GeneratedRegex(
        @"\A(?!https?://)(?<from>[^ ]+)(?<query> (?!/|https?://|[0-9]{3}!?( |\z))[^ ]*=[^ ]*)*( (?<to>(/|https?://)[^ ]*))?( (?<status>[0-9]{3}!?))?\z",
        RegexOptions.IgnoreCase | RegexOptions.CultureInvariant | RegexOptions.Singleline)]
    private static partial Regex Form();
}
