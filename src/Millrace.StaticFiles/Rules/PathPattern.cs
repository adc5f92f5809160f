using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// A compiled pattern for decoded paths: pieces between '*', matched from the left without backtracking, so that the time grows with the
/// path and not with the number of possible matches. Immutable; matching allocates nothing.
/// </summary>
/// <remarks>
/// '*' matches any bytes, slashes included (as in <c>_headers</c> and <c>_redirects</c>: <c>/a/*</c> is everything below /a/); '**' is the
/// same. '?' matches one byte except '/'. <c>:name</c> matches one byte or more, to the end of its segment. Case matters, as in the file
/// system. Percent escapes stand for their bytes, so %2A is a literal '*'.
/// </remarks>
internal sealed class PathPattern(PatternPiece[] pieces, string[] captureNames)
{
    /// <summary>The name of the capture of '*' in targets.</summary>
    public const string SplatName = "splat";

    /// <summary>A path has at most some KiB, and matching costs at most the product of both lengths.</summary>
    public const int CharactersMax = 1024;

    /// <summary>The only path that it matches, if it has no wildcards; otherwise null.</summary>
    public byte[]? Literal { get; } = pieces.Length == 1 ? pieces[0].Literal : null;

    /// <summary>The names of placeholders in order, then <see cref="SplatName"/> if a route has a '*'.</summary>
    public IReadOnlyList<string> CaptureNames => captureNames;

    /// <summary>Throws <see cref="SiteException"/> for a text that is not a pattern.</summary>
    public static PathPattern Parse(string text, PatternSyntax syntax) => new PatternReader(text, syntax).Read();

    public bool IsMatch(ReadOnlySpan<byte> path) => TryMatch(path, default);

    /// <summary>
    /// Matches a decoded path, and gives the position of each capture in it, if there is room for all <see cref="CaptureNames"/>.
    /// </summary>
    public bool TryMatch(ReadOnlySpan<byte> path, Span<TextRange> captures)
    {
        if (Literal is byte[] literal)
        {
            return path.SequenceEqual(literal);
        }

        if (!pieces[0].TryMatchAt(path, 0, captures, out int at))
        {
            return false;
        }

        if (pieces.Length == 1)
        {
            return at == path.Length;
        }

        foreach (PatternPiece piece in pieces.AsSpan()[1..^1])
        {
            if (!piece.TryMatchFirst(path, at, out at))
            {
                return false;
            }
        }

        bool matches = pieces[^1].TryMatchLast(path, at, captures, out int start);
        if (matches && !captures.IsEmpty)
        {
            captures[captureNames.Length - 1] = TextRange.Between(at, start);
        }

        return matches;
    }
}

/// <summary>
/// The tokens between two '*' of a pattern. From a given start there is at most one way to match it, so nothing is tried twice: a
/// placeholder ends where its segment ends, less a known number of bytes.
/// </summary>
internal sealed class PatternPiece
{
    private readonly PatternToken[] _tokens;
    private readonly bool _isFixed;

    public PatternPiece(PatternToken[] tokens)
    {
        _tokens = tokens;
        BytesMin = tokens.Sum(token => token.BytesMin);
        _isFixed = Array.TrueForAll(tokens, token => token.Kind != PatternTokenKind.Placeholder);
    }

    public int BytesMin { get; }

    public byte[]? Literal => _tokens switch
    {
        [] => [],
        [{ Kind: PatternTokenKind.Literal } only] => only.Bytes,
        _ => null,
    };

    public bool TryMatchAt(ReadOnlySpan<byte> path, int start, Span<TextRange> captures, out int end)
    {
        end = start;
        foreach (ref readonly PatternToken token in _tokens.AsSpan())
        {
            switch (token.Kind)
            {
                case PatternTokenKind.Literal:
                    if (!path[end..].StartsWith(token.Bytes))
                    {
                        return false;
                    }

                    end += token.Bytes.Length;
                    break;
                case PatternTokenKind.AnyByte:
                    if (end == path.Length || path[end] == '/')
                    {
                        return false;
                    }

                    end++;
                    break;
                default:
                    int slash = path[end..].IndexOf((byte)'/');
                    int stop = (slash < 0 ? path.Length : end + slash) - token.SuffixBytes;
                    if (stop <= end)
                    {
                        return false;
                    }

                    if (!captures.IsEmpty)
                    {
                        captures[token.Capture] = TextRange.Between(end, stop);
                    }

                    end = stop;
                    break;
            }
        }

        return true;
    }

    /// <summary>
    /// Finds the first match from <paramref name="from"/> on. A later start never ends earlier (each token's end grows with its start), so
    /// the first match leaves the most to the following pieces.
    /// </summary>
    public bool TryMatchFirst(ReadOnlySpan<byte> path, int from, out int end)
    {
        byte[] head = _tokens is [{ Kind: PatternTokenKind.Literal } first, ..] ? first.Bytes : [];
        for (int start = from; start + BytesMin <= path.Length; start++)
        {
            int skipped = path[start..].IndexOf(head);
            if (skipped < 0)
            {
                break;
            }

            start += skipped;
            if (TryMatchAt(path, start, default, out end))
            {
                return true;
            }
        }

        end = 0;
        return false;
    }

    /// <summary>Matches the end of the path, with the latest start that is not before <paramref name="from"/>.</summary>
    public bool TryMatchLast(ReadOnlySpan<byte> path, int from, Span<TextRange> captures, out int start)
    {
        for (start = path.Length - BytesMin; start >= from; start--)
        {
            if (TryMatchAt(path, start, captures, out int end) && end == path.Length)
            {
                return true;
            }

            if (_isFixed)
            {
                return false;
            }
        }

        return false;
    }
}

/// <summary>A step of a <see cref="PathPattern"/> between two '*': literal bytes, '?', or a placeholder.</summary>
/// <remarks>The suffix of a placeholder is how many bytes of its segment the following tokens need.</remarks>
internal readonly record struct PatternToken(PatternTokenKind Kind, byte[] Bytes, int Capture = 0, int SuffixBytes = 0)
{
    public int BytesMin => Kind == PatternTokenKind.Literal ? Bytes.Length : 1;
}

internal enum PatternTokenKind : byte
{
    Literal,

    AnyByte,

    /// <summary>One byte or more up to the end of the segment, less what follows there.</summary>
    Placeholder,
}
