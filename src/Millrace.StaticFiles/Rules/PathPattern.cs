using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// A pattern of decoded paths, compiled: pieces between '*', matched from the left without going back, so in time that grows
/// with the path and never with the number of ways to match it. Immutable; matching allocates nothing.
/// </summary>
/// <remarks>
/// '*' is any bytes, slashes included (so it is in <c>_headers</c> and <c>_redirects</c>, and <c>/a/*</c> is all below /a/); '**' is
/// the same. '?' is one byte but '/'. <c>:name</c> is one byte or more to the end of its segment. Case matters, as it does to the file
/// system. Percent escapes stand for their bytes, so %2A is a literal '*'.
/// </remarks>
internal sealed class PathPattern
{
    /// <summary>What a capture of '*' is called in targets.</summary>
    public const string SplatName = "splat";

    /// <summary>A path is at most some KiB, and what matching costs is at most their product.</summary>
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

    /// <summary>The only path it matches, where it has no wildcards, or null.</summary>
    public byte[]? Literal { get; }

    /// <summary>The names of placeholders in their order, and then <see cref="SplatName"/> if a route has a '*'.</summary>
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

    /// <summary>Matches, and says where in the path each capture lies.</summary>
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
