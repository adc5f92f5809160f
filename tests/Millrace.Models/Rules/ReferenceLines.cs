using System.Text;
using Millrace.StaticFiles.Rules;

namespace Millrace.Models;

/// <summary>The lines of a rule file that say something, with their numbers from 1.</summary>
internal static class ReferenceLines
{
    public static IEnumerable<(int Number, string Text)> Of(ReadOnlySpan<byte> bytes, List<int> refused)
    {
        string text = Latin1.Text(bytes);
        if (text.StartsWith("\xFF\xFE", StringComparison.Ordinal) || text.StartsWith("\xFE\xFF", StringComparison.Ordinal))
        {
            refused.Add(1);
            return [];
        }

        text = text.StartsWith("\xEF\xBB\xBF", StringComparison.Ordinal) ? text[3..] : text;
        var lines = new List<(int Number, string Text)>();
        foreach ((int index, string raw) in text.Split('\n').Index())
        {
            string line = raw.Trim(' ', '\t', '\r');
            if (line.Length > RuleLimits.LineBytesMax)
            {
                refused.Add(index + 1);
            }
            else if (line != "" && line[0] != '#')
            {
                lines.Add((index + 1, Encoding.UTF8.GetString(Latin1.Bytes(line))));
            }
        }

        return lines;
    }
}
