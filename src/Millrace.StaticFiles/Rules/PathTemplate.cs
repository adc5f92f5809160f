using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The decoded path of a rewrite, with placeholders for captures. A query or fragment of the target means nothing to a file, and is left
/// out.
/// </summary>
internal sealed class PathTemplate(TargetPart[] parts)
{
    /// <summary>Throws <see cref="SiteException"/> for a text that is not a path of the site.</summary>
    public static PathTemplate Parse(string text, List<string> captureNames)
    {
        if (!TargetPart.IsPath(text))
        {
            throw new SiteException(
                $"The target '{FieldValidation.Shown(text)}' is not a path of this site.",
                "Write /path, or redirect with status 301, 302, 303, 307 or 308.");
        }

        int end = text.AsSpan().IndexOfAny('?', '#');
        TargetPart[] parts = TargetPart.Split(end < 0 ? text : text[..end], captureNames, QueryText.DecodePath);
        return Array.Exists(parts, static part => part.Literal?.Contains((byte)0) == true)
            ? throw new SiteException($"The target '{FieldValidation.Shown(text)}' holds a zero byte.", "Leave it out.")
            : new PathTemplate(parts);
    }

    /// <summary>
    /// Writes the path. <see cref="RuleMatch.None"/> if it cannot name a file, because of a dot segment, or of a '/' or NUL from a query
    /// parameter; <see cref="RuleMatch.TooLong"/> if it does not fit.
    /// </summary>
    public RuleMatch Write(scoped RouteCaptures captures, Span<byte> scratch, out ReadOnlySpan<byte> path)
    {
        path = default;
        int written = 0;
        foreach (ref readonly TargetPart part in parts.AsSpan())
        {
            ReadOnlySpan<byte> bytes = part.Literal ?? captures[part.Capture];
            if (bytes.Length > scratch.Length - written)
            {
                return RuleMatch.TooLong;
            }

            if (part.Literal is not null || captures.IsOfPath(part.Capture))
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
        path = path[TargetPart.DoubledSlashes(path)..];
        return HasDotSegment(path) ? RuleMatch.None : RuleMatch.Rewrite;
    }

    private static bool HasDotSegment(ReadOnlySpan<byte> path) =>
        path.IndexOf("/./"u8) >= 0 || path.IndexOf("/../"u8) >= 0 || path.EndsWith("/."u8) || path.EndsWith("/.."u8);
}

/// <summary>A part of a rule's target: literal bytes, or a capture if <see cref="Literal"/> is null.</summary>
internal readonly record struct TargetPart(byte[]? Literal, int Capture)
{
    /// <summary>
    /// Splits a target at its placeholders. A ':' without a known name is literal, except at the start of a segment, where it is most
    /// likely a mistyped name.
    /// </summary>
    public static TargetPart[] Split(string text, List<string> names, Func<byte[], byte[]> convert)
    {
        var split = new List<TargetPart>();
        int literal = 0;
        for (int at = 0; at < text.Length; at++)
        {
            int length = text[at] == ':' ? PatternReader.NameCharactersAt(text, at) : 0;
            if (length == 0)
            {
                continue;
            }

            string name = text.Substring(at + 1, length);
            int capture = names.IndexOf(name);
            if (capture >= 0)
            {
                AddLiteral(text[literal..at]);
                split.Add(new TargetPart(null, capture));
                at += length;
                literal = at + 1;
            }
            else if (at > 0 && text[at - 1] == '/')
            {
                throw new SiteException(
                    $"The target '{FieldValidation.Shown(text)}' uses ':{FieldValidation.Shown(name)}', which the rule does not capture.",
                    (name == "splat" ? "Put a '*' into FROM, whose match is ':splat'" : $"Put ':{FieldValidation.Shown(name)}' into FROM")
                        + ", or write a literal colon as %3A.");
            }
        }

        AddLiteral(text[literal..]);
        return [.. split];

        void AddLiteral(string characters)
        {
            if (characters.Length > 0)
            {
                split.Add(new TargetPart(convert(Encoding.UTF8.GetBytes(characters)), -1));
            }
        }
    }

    /// <summary>Whether a target is a path of this site. "//host" and "/\\host" lead to another host.</summary>
    public static bool IsPath(string target) => target is ['/', not ('/' or '\\'), ..] or "/";

    /// <summary>
    /// The number of excess slashes at the start of a path: "/:splat" with "/evil.example" would be "//evil.example", another host.
    /// </summary>
    public static int DoubledSlashes(ReadOnlySpan<byte> path)
    {
        int first = path.IndexOfAnyExcept((byte)'/');
        return (first < 0 ? path.Length : first) - 1;
    }
}
