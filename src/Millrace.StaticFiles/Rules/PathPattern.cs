using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
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
internal sealed class PathPattern
{
    /// <summary>The name of the capture of '*' in targets.</summary>
    public const string SplatName = "splat";

    /// <summary>A path has at most some KiB, and matching costs at most the product of both lengths.</summary>
    public const int CharactersMax = 1024;

    private readonly PatternPiece[] _pieces;
    private readonly string[] _captureNames;

    internal PathPattern(PatternPiece[] pieces, string[] captureNames)
    {
        Debug.Assert(pieces.Length > 0);
        _pieces = pieces;
        _captureNames = captureNames;
        Literal = pieces.Length == 1 ? pieces[0].Literal : null;
    }

    /// <summary>The only path that it matches, if it has no wildcards; otherwise null.</summary>
    public byte[]? Literal { get; }

    /// <summary>The names of placeholders in order, then <see cref="SplatName"/> if a route has a '*'.</summary>
    public IReadOnlyList<string> CaptureNames => _captureNames;

    public static bool TryParse(
        string text,
        PatternSyntax syntax,
        [NotNullWhen(true)] out PathPattern? pattern,
        [NotNullWhen(false)] out RuleProblem? problem)
    {
        problem = new PatternReader(text, syntax).TryRead(out pattern);
        return pattern is not null && problem is null;
    }

    public bool IsMatch(ReadOnlySpan<byte> path) => TryMatch(path, default);

    /// <summary>Matches, and gives the position of each capture in the path.</summary>
    /// <param name="path">A decoded path with its leading '/'.</param>
    /// <param name="captures">Empty, or at least as long as <see cref="CaptureNames"/>.</param>
    public bool TryMatch(ReadOnlySpan<byte> path, Span<TextRange> captures)
    {
        if (Literal is byte[] literal)
        {
            return path.SequenceEqual(literal);
        }

        if (!_pieces[0].TryMatchAt(path, 0, captures, out int at))
        {
            return false;
        }

        if (_pieces.Length == 1)
        {
            return at == path.Length;
        }

        foreach (PatternPiece piece in _pieces.AsSpan()[1..^1])
        {
            if (!piece.TryMatchFirst(path, at, out at))
            {
                return false;
            }
        }

        bool matches = _pieces[^1].TryMatchLast(path, at, captures, out int start);
        if (matches && !captures.IsEmpty)
        {
            captures[_captureNames.Length - 1] = TextRange.Between(at, start);
        }

        return matches;
    }
}
