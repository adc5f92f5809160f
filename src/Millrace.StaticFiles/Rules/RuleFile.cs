using System.Globalization;
using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// Reads the lines of a rule file without blank lines and comments ('#' first), and collects warnings. LF or CRLF, with or without a byte
/// order mark or a final newline; invalid UTF-8 becomes U+FFFD, which no rule accepts.
/// </summary>
internal sealed class RuleFile(string name)
{
    private readonly List<string> _warnings = [];
    private int _omitted;

    /// <summary>The warnings as "file:line: cause remedy", the first hundred.</summary>
    public IEnumerable<string> Warnings => _omitted == 0
        ? _warnings
        : _warnings.Append(string.Create(CultureInfo.InvariantCulture, $"{name}: {_omitted} more lines are not understood."));

    public void Warn(int line, RuleProblem problem)
    {
        if (_warnings.Count < RuleLimits.WarningsMax)
        {
            _warnings.Add(string.Create(CultureInfo.InvariantCulture, $"{name}:{line}: {problem}"));
        }
        else
        {
            _omitted++;
        }
    }

    /// <summary>The trimmed lines with content, with their numbers from 1.</summary>
    public List<(int Number, string Text)> Read(ReadOnlySpan<byte> bytes)
    {
        var lines = new List<(int Number, string Text)>();
        if (bytes.StartsWith<byte>([0xff, 0xfe]) || bytes.StartsWith<byte>([0xfe, 0xff]))
        {
            Warn(1, new RuleProblem("The file is UTF-16.", "Save it as UTF-8."));
            return lines;
        }

        ReadOnlySpan<byte> remaining = bytes.StartsWith("\uFEFF"u8) ? bytes[3..] : bytes;
        for (int number = 1; !remaining.IsEmpty; number++)
        {
            int end = remaining.IndexOf((byte)'\n');
            ReadOnlySpan<byte> line = (end < 0 ? remaining : remaining[..end]).Trim(" \t\r"u8);
            remaining = end < 0 ? default : remaining[(end + 1)..];
            if (line.Length > RuleLimits.LineBytesMax)
            {
                Warn(number, new RuleProblem($"The line has {line.Length} bytes.", $"Write at most {RuleLimits.LineBytesMax}."));
            }
            else if (!line.IsEmpty && line[0] != '#')
            {
                lines.Add((number, Encoding.UTF8.GetString(line)));
            }
        }

        return lines;
    }
}
