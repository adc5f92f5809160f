using System.Globalization;
using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// A file of rules as lines, without the blank ones and comments ('#' first), and what is wrong with them. LF or CRLF, with or
/// without a byte order mark or a last newline; what is not UTF-8 becomes U+FFFD, which no rule takes.
/// </summary>
internal sealed class RuleFile(string name)
{
    private readonly List<string> _warnings = [];
    private int _omitted;

    /// <summary>"file:line: cause remedy", the first hundred.</summary>
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

    /// <summary>The lines that say something, trimmed, with their numbers from 1.</summary>
    public List<(int Number, string Text)> Read(ReadOnlySpan<byte> bytes)
    {
        var lines = new List<(int Number, string Text)>();
        if (bytes.StartsWith<byte>([0xff, 0xfe]) || bytes.StartsWith<byte>([0xfe, 0xff]))
        {
            Warn(1, new RuleProblem("The file is UTF-16.", "Save it as UTF-8."));
            return lines;
        }

        ReadOnlySpan<byte> rest = bytes.StartsWith("\uFEFF"u8) ? bytes[3..] : bytes;
        for (int number = 1; !rest.IsEmpty; number++)
        {
            int end = rest.IndexOf((byte)'\n');
            ReadOnlySpan<byte> line = (end < 0 ? rest : rest[..end]).Trim(" \t\r"u8);
            rest = end < 0 ? default : rest[(end + 1)..];
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
