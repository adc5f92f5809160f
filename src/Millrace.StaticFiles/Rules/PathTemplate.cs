using System.Diagnostics.CodeAnalysis;
using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The decoded path of a rewrite, with placeholders for captures. A query or fragment of the target means nothing to a file, and is left
/// out.
/// </summary>
internal sealed class PathTemplate
{
    private readonly Part[] _parts;

    private PathTemplate(Part[] parts)
    {
        _parts = parts;
    }

    public static bool TryParse(
        string text,
        IReadOnlyList<string> captureNames,
        [NotNullWhen(true)] out PathTemplate? template,
        [NotNullWhen(false)] out RuleProblem? problem)
    {
        template = null;
        problem = null;
        if (text is not (['/', not ('/' or '\\'), ..] or "/"))
        {
            problem = new RuleProblem(
                $"The target '{FieldValidation.Shown(text)}' is not a path of this site: fetching from other hosts is not supported.",
                "Write /path, or redirect with status 301, 302, 303, 307 or 308.");
            return false;
        }

        int end = text.AsSpan().IndexOfAny('?', '#');
        var split = new List<TargetPart>();
        problem = TargetPart.Split(end < 0 ? text : text[..end], captureNames, split);
        if (problem is not null)
        {
            return false;
        }

        var parts = new List<Part>();
        foreach (TargetPart part in split)
        {
            byte[]? literal = part.Literal is null ? null : Decode(part.Literal);
            if (literal is not null && literal.AsSpan().Contains((byte)0))
            {
                problem = new RuleProblem($"The target '{FieldValidation.Shown(text)}' holds a zero byte.", "Leave it out.");
                return false;
            }

            parts.Add(new Part(literal, part.Capture));
        }

        template = new PathTemplate([.. parts]);
        return true;
    }

    /// <summary>
    /// Writes the path. <see cref="RuleMatch.None"/> if it cannot name a file, because of a dot segment, or of a '/' or NUL from a query
    /// parameter; <see cref="RuleMatch.TooLong"/> if it does not fit.
    /// </summary>
    public RuleMatch Write(scoped RouteCaptures captures, Span<byte> scratch, out ReadOnlySpan<byte> path)
    {
        path = default;
        int written = 0;
        foreach (ref readonly Part part in _parts.AsSpan())
        {
            ReadOnlySpan<byte> bytes = part.Literal ?? captures[part.Capture];
            if (bytes.Length > scratch.Length - written)
            {
                return RuleMatch.TooLong;
            }

            if (part.Literal is not null || captures.SourceOf(part.Capture) == CaptureSource.Path)
            {
                bytes.CopyTo(scratch[written..]);
                written += bytes.Length;
                continue;
            }

            for (int at = 0; at < bytes.Length;)
            {
                byte value = QueryText.NextDecoded(bytes, ref at);
                if (value is 0 or (byte)'/')
                {
                    return RuleMatch.None;
                }

                scratch[written++] = value;
            }
        }

        path = scratch[..written];
        path = path[LocationTemplate.DoubledSlashes(path)..];
        return HasDotSegment(path) ? RuleMatch.None : RuleMatch.Rewrite;
    }

    private static bool HasDotSegment(ReadOnlySpan<byte> path) =>
        path.IndexOf("/./"u8) >= 0 || path.IndexOf("/../"u8) >= 0 || path.EndsWith("/."u8) || path.EndsWith("/.."u8);

    private static byte[] Decode(string literal)
    {
        byte[] raw = Encoding.UTF8.GetBytes(literal.Replace("+", "%2B", StringComparison.Ordinal));
        var decoded = new List<byte>(raw.Length);
        for (int at = 0; at < raw.Length;)
        {
            decoded.Add(QueryText.NextDecoded(raw, ref at));
        }

        return [.. decoded];
    }

    private readonly record struct Part(byte[]? Literal, int Capture);
}
