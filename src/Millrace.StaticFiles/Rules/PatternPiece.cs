using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

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

    /// <summary>The bytes of a piece that is a single literal; otherwise null.</summary>
    public byte[]? Literal => _tokens switch
    {
        [] => [],
        [{ Kind: PatternTokenKind.Literal } only] => only.Bytes,
        _ => null,
    };

    /// <summary>Matches at <paramref name="start"/>, and gives the end.</summary>
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
