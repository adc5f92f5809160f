using System.Text;
using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;
using Millrace.StaticFiles.Rules;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Glob and route patterns: the first line is a pattern, the second the path it is asked about.</summary>
internal sealed class PatternTarget : FuzzTarget
{
    public override string Name => "pattern";

    public override int InputBytesMax => 200;

    public override int OutcomesMin => 4;

    public override IReadOnlyList<string> Words =>
    [
        "*", "**", "?", ":a", ":b", ":splat", "/", "/*", "%2A", "%25", "%", "%00", "%2f", "é", "\xF0\x9F\x98\x80", ".", "-", "a", "b",
        "\n/", "\n/a/b", "//", " ",
    ];

    public override byte[] Generate(Random random)
    {
        string pattern = string.Concat(Enumerable.Range(0, random.Next(1, 9)).Select(_ =>
            random.Pick("/", "/", "a", "b", ".", "*", "?", ":x", ":y", "%61")));
        string path = string.Concat(Enumerable.Range(0, random.Next(9)).Select(_ => random.Pick("/", "a", "b", ".", "ab")));
        return Latin1.Bytes($"{random.Pick("/", "", "*")}{pattern}\n/{path}");
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        int line = input.IndexOf((byte)'\n');
        string text = Encoding.UTF8.GetString(line < 0 ? input : input[..line]);
        ReadOnlySpan<byte> path = line < 0 ? default : input[(line + 1)..];
        return $"{Check(text, path, PatternSyntax.Glob)} {Check(text, path, PatternSyntax.Route)}";
    }

    private static string Check(string text, ReadOnlySpan<byte> path, PatternSyntax syntax)
    {
        PathPattern? pattern = null;
        bool isParsed = Refusal.Of(() => pattern = PathPattern.Parse(text, syntax)) is null;
        ReferencePattern? reference = ReferencePattern.Parse(text, syntax);
        Agree($"{reference is not null}", $"{isParsed}", $"{syntax} is a pattern");
        if (!isParsed)
        {
            return "refused";
        }

        bool matches = pattern!.IsMatch(path);
        Agree($"{reference!.IsMatch(Latin1.Text(path))}", $"{matches}", $"{syntax} matches");
        bool isLiteral = pattern.Literal is null || matches == path.SequenceEqual(pattern.Literal);
        Require(isLiteral, "a literal pattern matches another path, or not its own");
        if (syntax == PatternSyntax.Route && matches)
        {
            CheckCaptures(pattern, path);
        }

        return matches ? $"matches {pattern.CaptureNames.Count}" : "does not";
    }

    /// <summary>Captures lie in the path, apart from each other, and placeholders hold no slash.</summary>
    private static void CheckCaptures(PathPattern pattern, ReadOnlySpan<byte> path)
    {
        var captures = new TextRange[pattern.CaptureNames.Count];
        Require(pattern.TryMatch(path, captures), "a path matches only without captures");
        TextRange[] ordered = [.. captures.OrderBy(capture => capture.Start).ThenBy(capture => capture.Length)];
        for (int i = 0; i < ordered.Length; i++)
        {
            bool isWithin = ordered[i].Start >= 0 && ordered[i].Length >= 0 && ordered[i].End <= path.Length;
            Require(isWithin, $"{ordered[i]} of {path.Length} bytes");
            Require(i == 0 || ordered[i - 1].End <= ordered[i].Start, $"{ordered[i]} overlaps {ordered[Math.Max(i - 1, 0)]}");
        }

        for (int i = 0; i < captures.Length; i++)
        {
            bool isStar = pattern.CaptureNames[i] == PathPattern.SplatName;
            bool isInSegment = captures[i].Length > 0 && !captures[i].In(path).Contains((byte)'/');
            Require(isStar || isInSegment, $"{pattern.CaptureNames[i]} is no part of a segment");
        }
    }
}
