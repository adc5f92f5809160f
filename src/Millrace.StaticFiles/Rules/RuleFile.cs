using System.Globalization;
using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>Reads the lines of a rule file, and collects warnings.</summary>
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

    /// <summary>The lines with content, with their numbers from 1. Invalid UTF-8 becomes U+FFFD, which no rule accepts.</summary>
    public List<(int Number, string Text)> Read(ReadOnlySpan<byte> bytes)
    {
        var texts = new List<(int Number, string Text)>();
        if (bytes.StartsWith<byte>([0xff, 0xfe]) || bytes.StartsWith<byte>([0xfe, 0xff]))
        {
            Warn(1, new RuleProblem("The file is UTF-16.", "Save it as UTF-8."));
            return texts;
        }

        var lines = new TextLines(bytes);
        while (lines.MoveNext())
        {
            if (lines.Current.Length > RuleLimits.LineBytesMax)
            {
                string cause = $"The line has {lines.Current.Length} bytes.";
                Warn(lines.Number, new RuleProblem(cause, $"Write at most {RuleLimits.LineBytesMax}."));
            }
            else
            {
                texts.Add((lines.Number, Encoding.UTF8.GetString(lines.Current)));
            }
        }

        return texts;
    }
}

/// <summary>
/// The lines of a text file that have content, trimmed: without blank lines and comments ('#' first). LF or CRLF, with or without a byte
/// order mark or a final newline.
/// </summary>
internal ref struct TextLines(ReadOnlySpan<byte> text)
{
    private ReadOnlySpan<byte> _remaining = text.StartsWith("\uFEFF"u8) ? text[3..] : text;

    public int Number { get; private set; }

    public ReadOnlySpan<byte> Current { get; private set; }

    public bool MoveNext()
    {
        while (!_remaining.IsEmpty)
        {
            Number++;
            int end = _remaining.IndexOf((byte)'\n');
            Current = (end < 0 ? _remaining : _remaining[..end]).Trim(" \t\r"u8);
            _remaining = end < 0 ? default : _remaining[(end + 1)..];
            if (!Current.IsEmpty && Current[0] != '#')
            {
                return true;
            }
        }

        return false;
    }
}

/// <summary>Why a rule or an option's value is not valid, and the remedy: one sentence each.</summary>
internal sealed record RuleProblem(string Cause, string Remedy)
{
    public static RuleProblem HostRule { get; } =
        new("Rules for a host are not supported.", "Write the path alone; give each host a root of its own.");

    public SiteException ToException() => new(Cause, Remedy);

    public override string ToString() => $"{Cause} {Remedy}";
}

/// <summary>Limits on rules, which a site of thousands of pages does not reach, but a mistake or an attacker does.</summary>
internal static class RuleLimits
{
    /// <summary>Each block is tried for each request: 2,000 take about ten microseconds.</summary>
    public const int HeaderBlocksMax = 2000;

    /// <summary>Fields of a block of <c>_headers</c>, distinct names in the whole file, and fields of a response.</summary>
    public const int FieldsMax = 250;

    /// <summary>For each list of rules among the options.</summary>
    public const int OptionRulesMax = 1000;

    /// <summary>
    /// Routes with wildcards, which are tried one by one. Exact routes are found by hash, and only the size of their file limits them.
    /// </summary>
    public const int PatternRoutesMax = 2000;

    /// <summary>Captures of one route: placeholders, '*' and query parameters.</summary>
    public const int CapturesMax = 16;

    /// <summary>
    /// Field sets kept for reuse. A site has some dozens; if it has unlimited paths (a single-page application answers all), further sets
    /// are made for each request.
    /// </summary>
    public const int FieldSetsMax = 4096;

    /// <summary>Longer than Netlify and Cloudflare allow (2,000), with room for the longest value.</summary>
    public const int LineBytesMax = 16 * 1024;

    public const int WarningsMax = 100;
}
