using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>Reads the site's own rule files.</summary>
internal static class RuleFile
{
    /// <summary>
    /// Reads the lines with content. Returns a warning, as "file:line: cause remedy", for each that <paramref name="readLine"/> refuses
    /// with a <see cref="SiteException"/>: the first hundred, and the number of the others. Invalid UTF-8 becomes U+FFFD, which no rule
    /// accepts.
    /// </summary>
    public static List<string> Read(string name, ReadOnlySpan<byte> bytes, Action<string> readLine)
    {
        if (bytes.StartsWith<byte>([0xff, 0xfe]) || bytes.StartsWith<byte>([0xfe, 0xff]))
        {
            return [$"{name}:1: The file is UTF-16. Save it as UTF-8."];
        }

        var warnings = new List<string>();
        int omitted = 0;
        var lines = new TextLines(bytes);
        while (lines.MoveNext())
        {
            if (omitted == RuleLimits.RefusedLinesMax)
            {
                return [.. warnings, $"{name}:{lines.Number}: Too many lines are not understood: this one and the following are not read."];
            }

            try
            {
                readLine(lines.Current.Length <= RuleLimits.LineBytesMax
                    ? Encoding.UTF8.GetString(lines.Current)
                    : throw new SiteException($"The line has {lines.Current.Length} bytes.", $"Write at most {RuleLimits.LineBytesMax}."));
            }
            catch (SiteException problem) when (warnings.Count < RuleLimits.WarningsMax)
            {
                warnings.Add($"{name}:{lines.Number}: {problem.Message}");
            }
            catch (SiteException)
            {
                omitted++;
            }
        }

        return omitted == 0 ? warnings : [.. warnings, $"{name}: {omitted} more lines are not understood."];
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

    /// <summary>A file of other content is not read to its end: each refused line costs some 20 microseconds.</summary>
    public const int RefusedLinesMax = 10_000;
}
